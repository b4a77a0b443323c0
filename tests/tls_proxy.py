"""Speaks TLS in front of a server that does not: CERTIFICATE KEY PORT-BEHIND [CUT]. Prints the port that it takes connections on.
Where a client's words begin with CUT, its connection is reset."""
import socket
import ssl
import struct
import sys
import threading


def pass_on(source, sink):
    try:
        while data := source.recv(65536):
            if cut and data.startswith(cut):
                source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                source.close()
                break
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client, context, port):
    try:
        client = context.wrap_socket(client, server_side=True)
        behind = socket.create_connection(("127.0.0.1", port))
    except OSError:
        client.close()
        return
    threading.Thread(target=pass_on, args=(client, behind), daemon=True).start()
    pass_on(behind, client)


cut = sys.argv[4].encode() if len(sys.argv) > 4 else b""
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0], context, int(sys.argv[3])), daemon=True).start()
