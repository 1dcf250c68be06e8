package io.rdmaraw.testsuite.tcp;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.security.MessageDigest;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/** The kernel's end of a bulk transfer: a blocking socket that sends on one thread and receives on another. */
final class KernelBulk {
    private static final int CHUNK_BYTES = 1 << 16;

    private final Socket socket;
    private final BulkContent content;
    private final long bytes;

    /** @param bytes number of bytes to send */
    KernelBulk(Socket socket, BulkContent content, long bytes) {
        this.socket = socket;
        this.content = content;
        this.bytes = bytes;
    }

    /** Sends all bytes and a FIN, and receives until the peer's FIN. Returns the digest of the received data. */
    String run() throws Exception {
        FutureTask<String> receiving = new FutureTask<>((Callable<String>) this::receive);
        Thread.ofPlatform().daemon().name("kernel's receiver").start(receiving);
        send();
        return receiving.get();
    }

    private void send() throws IOException {
        OutputStream out = socket.getOutputStream();
        byte[] chunk = new byte[CHUNK_BYTES];
        for (long sent = 0; sent < bytes;) {
            int length = content.write(sent, chunk, bytes - sent);
            out.write(chunk, 0, length);
            sent += length;
        }
        socket.shutdownOutput();
    }

    private String receive() throws IOException {
        InputStream in = socket.getInputStream();
        MessageDigest digest = BulkContent.newDigest();
        byte[] chunk = new byte[CHUNK_BYTES];
        for (int length = in.read(chunk); length >= 0; length = in.read(chunk)) {
            digest.update(chunk, 0, length);
        }
        return BulkContent.text(digest);
    }
}
