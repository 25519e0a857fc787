#!/usr/bin/env bash
# Everything that must hold of the Python client, in an environment of its own in a temporary folder. Needs `npm run prepare` before.
set -euo pipefail
cd "$(dirname "$0")"

skip() { echo "The Python client is not tested: $1."; exit 0; }
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "Python 3.11 is missing"

if [ -z "${PYTHON_ENVIRONMENT:-}" ]; then
  PYTHON_ENVIRONMENT=$(mktemp -d)
  trap 'rm -rf "$PYTHON_ENVIRONMENT"' EXIT
fi
"$python" -m venv "$PYTHON_ENVIRONMENT" || skip "venv is missing"
export PATH="$PYTHON_ENVIRONMENT/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
pip download --quiet --no-deps --no-cache-dir --dest "$PYTHON_ENVIRONMENT/index" pip 2>/dev/null || skip "the package index is not there"
# uv takes a tenth of the time of pip.
pip install --quiet uv==0.13.9
VIRTUAL_ENV=$PYTHON_ENVIRONMENT uv pip install --quiet --requirement dev-requirements.txt --editable ".[openai-agents,langgraph,adk,pydantic-ai]"

black --quiet --check src scripts tests
python scripts/generate.py --check
mypy --cache-dir "$PYTHON_ENVIRONMENT/mypy"
python -m pytest -p no:cacheprovider "$@"
