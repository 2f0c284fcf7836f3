# Runs before the skill's code: creates the module `prowess`, reads one request from
# standard input, and writes the reply to a descriptor that no print, no child program and
# no library writes to. The skill's code is in the same process and could find it; it could
# only forge its own result.
def _main(source):
    import json, os, sys, types

    request = json.loads(sys.stdin.buffer.read())
    # Printed output goes to standard error. The copy is not inherited.
    answers = os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    owner = os.getpid()

    module = types.ModuleType("prowess")
    exec(compile(source, "<prowess>", "exec"), module.__dict__)
    # Skills written for other runtimes import the decorator under those names.
    for name in ("prowess", "prowess_tools", "jeeves", "jeevesagent", "loomflow"):
        sys.modules[name] = module

    def answer(status, text):
        # A forked copy of this process must not reply.
        if os.getpid() != owner:
            os._exit(0)
        body = text.encode("utf-8", "replace")
        if len(body) > request["cap"]:
            left_out = len(body) - request["cap"]
            kept = body[: request["cap"]].decode("utf-8", "ignore")
            body = f"{kept}\n[{left_out} bytes are left out here]".encode()
        data = f"{request['marker']} {status} {len(body)}\n".encode() + body
        while data:
            data = data[os.write(answers, data) :]

    def traceback(error):
        import traceback as t

        shown = error.__traceback__
        while shown and shown.tb_frame.f_code.co_filename in ("<string>", "<prowess>"):
            shown = shown.tb_next
        inner = [f for f in t.extract_tb(shown) if not f.filename.startswith("<")]
        head = ["Traceback (most recent call last):\n"] if inner else []
        return "".join(head + t.format_list(inner) + t.format_exception_only(type(error), error))

    def text(value):
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        if isinstance(value, bytes):
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise TypeError(
                    "the tool returned bytes that are not text; write them to a file in /mnt/data"
                ) from None
        return json.dumps(value, ensure_ascii=False, default=str)

    def tools(context):
        import importlib.util

        folder = request["context"]["folder"]
        sys.path.insert(0, folder)
        spec = importlib.util.spec_from_file_location("tools", folder + "/tools.py")
        loaded = importlib.util.module_from_spec(spec)
        sys.modules["tools"] = loaded
        spec.loader.exec_module(loaded)
        found = [value for value in vars(loaded).values() if isinstance(value, module.Tool)]
        build = getattr(loaded, "build_tools", None)
        if callable(build):
            for value in module._awaited(build(context)):
                if not callable(value):
                    raise TypeError(f"build_tools returned {value!r}, which is not a function")
                found.append(value if isinstance(value, module.Tool) else module.Tool(value))
        named = {}
        for one in found:
            if named.setdefault(one.name, one) is not one:
                raise ValueError(f"two tools are named {one.name}")
        return named

    try:
        context = module.Context(**request["context"])
        named = tools(context)
        if request["function"] is None:
            told = [[t.name, t.description, t.input_schema] for t in named.values()]
            result = json.dumps(told, ensure_ascii=False)
        else:
            result = text(named[request["function"]].call(request["arguments"], context))
    except BaseException as error:
        answer("error", traceback(error))
    else:
        answer("ok", result)
