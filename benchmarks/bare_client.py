"""A server on standard streams driven by the smallest loop: `bare_client.py CALLS COMMAND...`.

Unpatched; prints calls a second.
"""

import subprocess
import sys
import time

LINE = (
    b'{"jsonrpc":"2.0","id":%d,"method":"tools/call",'
    b'"params":{"name":"echo","arguments":{"text":"hello"}}}\n'
)


def main() -> None:
    calls, command = int(sys.argv[1]), sys.argv[2:]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as child:
        for number in range(200):
            turn(child, number)
        started = time.perf_counter()
        for number in range(calls):
            turn(child, number)
        print(calls / (time.perf_counter() - started))
        child.stdin.close()


def turn(child: subprocess.Popen[bytes], number: int) -> None:
    child.stdin.write(LINE % number)
    answer = b""
    while not answer.endswith(b"\n"):
        answer += child.stdout.read(65536)


if __name__ == "__main__":
    main()
