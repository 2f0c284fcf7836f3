//! Whether code can send something over the network: a fact about a file that several rules
//! weigh.

/// Ways to send something out, in the languages skills are written in.
const SINKS: &[&str] = &[
    "requests.post",
    "requests.put",
    "requests.get",
    "requests.request",
    "urllib.request",
    "urlopen(",
    "http.client",
    "httpx.",
    "aiohttp",
    "socket.socket",
    "smtplib",
    "ftplib",
    "paramiko",
    "fetch(",
    "axios",
    "XMLHttpRequest",
    "http.request(",
    "https.request(",
    "curl ",
    "wget ",
    "Invoke-WebRequest",
    "Invoke-RestMethod",
    "/dev/tcp/",
    "ncat ",
    "nc -",
    "scp ",
    "rsync ",
];

/// Whether code can send something out.
pub(crate) fn has_sink(text: &str) -> bool {
    SINKS.iter().any(|sink| text.contains(sink))
}
