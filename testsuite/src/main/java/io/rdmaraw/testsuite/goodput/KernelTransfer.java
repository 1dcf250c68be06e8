package io.rdmaraw.testsuite.goodput;

import io.rdmaraw.testsuite.net.NetworkNamespace;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** The kernel as the receiver of a bulk transfer in real time. */
final class KernelTransfer {
    static final int PORT = 7070;
    private static final int CHUNK_BYTES = 1 << 18;

    private KernelTransfer() {
    }

    /** A listening socket that accepts one connection and counts the bytes it reads. */
    static final class Sink implements AutoCloseable {
        private final ServerSocketChannel server;
        private final Thread thread;
        private volatile long bytes;
        private volatile SocketChannel accepted;

        Sink(NetworkNamespace namespace, String address) throws Exception {
            server = namespace.call(ServerSocketChannel::open);
            server.bind(new InetSocketAddress(InetAddress.ofLiteral(address), PORT));
            thread = Thread.ofPlatform().daemon().name("sink").start(this::read);
        }

        private void read() {
            ByteBuffer buffer = ByteBuffer.allocateDirect(CHUNK_BYTES);
            try (SocketChannel channel = server.accept()) {
                accepted = channel;
                for (int count; (count = channel.read(buffer.clear())) >= 0;) {
                    bytes += count;
                }
            } catch (AsynchronousCloseException e) {
                // {@link #close} has closed the socket.
            } catch (IOException e) {
                // The sender ends a transfer by a reset.
                if (accepted == null) {
                    throw new IllegalStateException("nothing was accepted", e);
                }
            }
        }

        long bytes() {
            return bytes;
        }

        @Override
        public void close() throws IOException {
            server.close();
            SocketChannel channel = accepted;
            if (channel != null) {
                // The reset that ends a transfer may have been lost.
                channel.close();
            }
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
