package io.rdmaraw.testsuite.tcp;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.security.MessageDigest;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;

/** The kernel's end of a bulk transfer: a blocking socket that sends on one thread and receives on another. */
final class KernelBulk {
    private static final int CHUNK_BYTES = 1 << 16;

    private final Socket socket;
    private final BulkContent content;
    private final long bytes;
    /** Number of bytes after which the sender waits for {@link #resumed}. */
    private final long pauseAt;
    private final CountDownLatch resumed;

    /** @param bytes number of bytes to send */
    KernelBulk(Socket socket, BulkContent content, long bytes) {
        this(socket, content, bytes, bytes, new CountDownLatch(0));
    }

    /** Creates a sender that waits for {@code resumed} after {@code pauseAt} bytes. */
    KernelBulk(Socket socket, BulkContent content, long bytes, long pauseAt, CountDownLatch resumed) {
        this.socket = socket;
        this.content = content;
        this.bytes = bytes;
        this.pauseAt = pauseAt;
        this.resumed = resumed;
    }

    /** Sends all bytes and a FIN, and receives until the peer's FIN. Returns the digest of the received data. */
    String run() throws Exception {
        FutureTask<String> receiving = new FutureTask<>((Callable<String>) this::receive);
        Thread.ofPlatform().daemon().name("kernel's receiver").start(receiving);
        send();
        return receiving.get();
    }

    private void send() throws Exception {
        OutputStream out = socket.getOutputStream();
        byte[] chunk = new byte[CHUNK_BYTES];
        for (long sent = 0; sent < bytes;) {
            if (sent == pauseAt) {
                resumed.await();
            }
            int length = content.write(sent, chunk, (sent < pauseAt ? pauseAt : bytes) - sent);
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
