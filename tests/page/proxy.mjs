// A reverse proxy between the browser and a server: under a path prefix, and able to end a socket
// with any code, as the server does for reasons that take long to come about.

import http from "node:http";
import net from "node:net";

export class Proxy {
  #sockets = new Set(); // those of the browser that were upgraded

  constructor(server, prefix = "") {
    Object.assign(this, { server, prefix });
    this.proxy = http.createServer((request, response) => this.#pass(request, response));
    this.proxy.on("upgrade", (request, socket) => this.#upgrade(request, socket));
  }

  async start() {
    await new Promise((resolve) => this.proxy.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get address() {
    return `http://127.0.0.1:${this.proxy.address().port}${this.prefix}/deck/`;
  }

  // Whole frames only: to be called while the server has nothing to say.
  close(code, reason = "") {
    const payload = Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]);
    for (const socket of this.#sockets) socket.end(Buffer.concat([Buffer.from([0x88, payload.length]), payload]));
  }

  end() {
    this.proxy.closeAllConnections();
    for (const socket of this.#sockets) socket.destroy();
    this.proxy.close();
  }

  #path = (request) => request.url.slice(this.prefix.length);

  #pass(request, response) {
    const { method, headers } = request;
    const upstream = http.request({ port: this.server.port, path: this.#path(request), method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    upstream.on("error", () => response.destroy());
    request.pipe(upstream);
  }

  #upgrade(request, socket) {
    const upstream = net.connect(this.server.port, "127.0.0.1", () => {
      const lines = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`);
      upstream.write(`GET ${this.#path(request)} HTTP/1.1\r\n${lines.join("")}\r\n`);
      socket.pipe(upstream).pipe(socket);
    });
    this.#sockets.add(socket);
    socket.on("close", () => (this.#sockets.delete(socket), upstream.destroy()));
    for (const end of [socket, upstream]) end.on("error", () => socket.destroy());
  }
}
