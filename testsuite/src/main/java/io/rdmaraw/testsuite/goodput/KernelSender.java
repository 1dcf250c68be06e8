package io.rdmaraw.testsuite.goodput;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * A sending socket of the kernel with a chosen congestion control. It uses TCP_CONGESTION, with which root may
 * select any available algorithm. The default of a namespace is restricted to algorithms that every user may
 * select.
 */
final class KernelSender implements AutoCloseable {
    private static final int IPPROTO_TCP = 6;
    private static final int TCP_CONGESTION = 13;
    private static final int SO_LINGER = 13;
    private static final int SO_SNDTIMEO = 21;
    private static final int F_SETFL = 4;
    private static final long SEND_TIMEOUT_MICROS = 20_000;
    private static final int SOCKADDR_BYTES = 16;
    private static final int CHUNK_BYTES = 1 << 17;
    private static final long CONNECT = Libc.address("connect");
    private static final long FCNTL = Libc.address("fcntl");

    private final NativeSocket socket;
    private final long memory = Libc.allocateZeroed(CHUNK_BYTES);

    KernelSender(NetworkNamespace namespace, String algorithm) throws Exception {
        socket = namespace.call(() -> NativeSocket.open(NativeSocket.AF_INET, NativeSocket.SOCK_STREAM, 0));
        // Writes block, but time out, so that a transfer ends in time on the slowest path.
        check(NativeCall.intValue(FCNTL, socket.fd(), F_SETFL, 0), "fcntl");
        NativeMemory.putLong(memory + 8, SEND_TIMEOUT_MICROS);
        check(socket.setOption(NativeSocket.SOL_SOCKET, SO_SNDTIMEO, memory, 16), "SO_SNDTIMEO");
        NativeMemory.putInt(memory, 1);
        NativeMemory.putInt(memory + 4, 0);
        check(socket.setOption(NativeSocket.SOL_SOCKET, SO_LINGER, memory, 8), "SO_LINGER");
        byte[] name = algorithm.getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i < name.length; i++) {
            NativeMemory.putByte(memory + i, name[i]);
        }
        check(socket.setOption(IPPROTO_TCP, TCP_CONGESTION, memory, name.length), "TCP_CONGESTION " + algorithm);
    }

    private static void check(int result, String call) throws IOException {
        if (result < 0) {
            throw new IOException(call + ": " + Errno.describe(-result));
        }
    }

    /** Sends to a sink for this time. Closing this object resets the connection. */
    void send(String address, int seconds) throws IOException {
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        NativeMemory.putLong(memory, 0);
        NativeMemory.putShort(memory, (short) NativeSocket.AF_INET);
        NativeMemory.putShort(memory + 2, Short.reverseBytes((short) KernelTransfer.PORT));
        String[] parts = address.split("\\.");
        for (int i = 0; i < parts.length; i++) {
            NativeMemory.putByte(memory + 4 + i, (byte) Integer.parseInt(parts[i]));
        }
        int connected;
        do {
            connected = NativeCall.intValue(CONNECT, socket.fd(), memory, SOCKADDR_BYTES);
        } while (isInProgress(connected) && System.nanoTime() < end);
        if (connected != -EISCONN) {
            check(connected, "connect");
        }
        while (System.nanoTime() < end) {
            long written = Libc.write(socket.fd(), memory, CHUNK_BYTES);
            if (written < 0 && written != -Errno.EAGAIN && written != -Errno.EINTR) {
                throw new IOException("write: " + Errno.describe((int) -written));
            }
        }
    }

    /** Returns whether the connection is still being established: the send timeout also interrupts connect. */
    private static boolean isInProgress(int result) {
        return result == -EINPROGRESS || result == -EALREADY;
    }

    private static final int EISCONN = 106;
    private static final int EALREADY = 114;
    private static final int EINPROGRESS = 115;

    @Override
    public void close() {
        socket.close();
        Libc.free(memory);
    }
}
