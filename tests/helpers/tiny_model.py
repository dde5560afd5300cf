"""A language model of half a megabyte with random weights, written in a tenth of a second.

It says nonsense, the same nonsense each time at temperature 0, through the whole of llama.cpp: real
tokens, real streams, real slots.  It ends only where it is told to.
"""

from pathlib import Path

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, FEED_FORWARD = 2, 64, 4, 128
END_TOKEN = 2

PLAIN_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
TOOL_TEMPLATE = (
    "{% if tools %}{{ tools | tojson }}\n{% endif %}"
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}"
    "{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def write_tiny_model(path: Path, template: str = PLAIN_TEMPLATE, context: int = 65536) -> Path:
    """Write the model to `path` and return it."""
    writer = gguf.GGUFWriter(path, "llama")
    tokens = _write_vocabulary(writer)
    writer.add_context_length(context)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(tokens)
    writer.add_chat_template(template)
    _add_tensors(writer, tokens)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _write_vocabulary(writer: gguf.GGUFWriter) -> int:
    kinds = gguf.TokenType
    entries = [("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL), ("</s>", kinds.CONTROL)]
    entries += [(f"<0x{value:02X}>", kinds.BYTE) for value in range(256)]
    entries += [("▁", kinds.NORMAL)]
    entries += [(chr(value), kinds.NORMAL) for value in range(33, 127)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text.encode() for text, _ in entries])
    writer.add_token_scores([0.0] * len(entries))
    writer.add_token_types([int(kind) for _, kind in entries])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(END_TOKEN)
    return len(entries)


def _add_tensors(writer: gguf.GGUFWriter, tokens: int) -> None:
    dice = np.random.default_rng(7)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, dice.normal(0, 0.4, shape).astype(np.float32))

    add("token_embd.weight", tokens, WIDTH)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    output = dice.normal(0, 0.4, (tokens, WIDTH)).astype(np.float32)
    output[END_TOKEN] = 0  # never the likeliest: an answer is as long as it may be
    writer.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{norm}.weight", np.ones(WIDTH, np.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{name}.weight", WIDTH, WIDTH)
        for name in ("ffn_gate", "ffn_up"):
            add(f"blk.{layer}.{name}.weight", FEED_FORWARD, WIDTH)
        add(f"blk.{layer}.ffn_down.weight", WIDTH, FEED_FORWARD)
