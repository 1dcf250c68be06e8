package io.rdmaraw.testsuite.net;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteOrder;

/**
 * A packet socket (packet(7)) on one interface. It receives and sends Ethernet frames in bursts of up to
 * {@value #BURST} with recvmmsg(2) and sendmmsg(2). It does not receive the frames that it sends. Used by one thread.
 */
public final class PacketPort implements AutoCloseable {
    public static final int BURST = 64;
    private static final int AF_PACKET = 17;
    private static final short ETH_P_ALL = 3;
    private static final int SOL_PACKET = 263;
    private static final int PACKET_STATISTICS = 6;
    private static final int PACKET_QDISC_BYPASS = 20;
    private static final int PACKET_IGNORE_OUTGOING = 23;
    private static final int SO_SNDBUFFORCE = 32;
    private static final int SO_RCVBUFFORCE = 33;
    private static final int SO_TIMESTAMPNS = 35;
    /** struct cmsghdr with a struct timespec. */
    private static final int CONTROL_BYTES = 32;
    private static final int CONTROL_SECONDS = 16;
    private static final int CONTROL_NANOS = 24;
    private static final int SOCKET_BUFFER_BYTES = 64 << 20;
    private static final int SOCKADDR_LL_BYTES = 20;
    private static final int MMSGHDR_BYTES = 64;
    private static final int MSG_IOV = 16;
    private static final int MSG_IOVLEN = 24;
    private static final int MSG_CONTROL = 32;
    private static final int MSG_CONTROLLEN = 40;
    private static final int MSG_FLAGS = 48;
    private static final int MSG_LEN = 56;
    private static final int MSG_TRUNC = 0x20;
    private static final int IOVEC_BYTES = 16;
    private static final long RECVMMSG = Libc.address("recvmmsg");
    private static final long SENDMMSG = Libc.address("sendmmsg");
    private static final long GETSOCKOPT = Libc.address("getsockopt");

    private final NativeSocket socket;
    private final String name;
    private final long receiveHeaders = headers();
    private final long sendHeaders = headers();
    private final long receiveControls = Libc.allocateZeroed((long) BURST * CONTROL_BYTES);

    private PacketPort(NativeSocket socket, String name) {
        this.socket = socket;
        this.name = name;
    }

    /** Opens the interface of an end in its namespace. */
    public static PacketPort open(VethEnd end) {
        int index = end.index();
        try {
            return end.namespace().call(() -> open(end.name(), index));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (Exception e) {
            throw new IllegalStateException("cannot open a packet socket on " + end, e);
        }
    }

    /** Opens the interface with a name and an index in the namespace of the calling thread. */
    public static PacketPort open(String name, int index) throws IOException {
        NativeSocket socket = NativeSocket.open(AF_PACKET, NativeSocket.SOCK_RAW, 0);
        PacketPort port = new PacketPort(socket, name);
        try {
            port.setOption(NativeSocket.SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BUFFER_BYTES);
            port.setOption(NativeSocket.SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BUFFER_BYTES);
            port.setOption(SOL_PACKET, PACKET_QDISC_BYPASS, 1);
            port.setOption(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
            port.setOption(NativeSocket.SOL_SOCKET, SO_TIMESTAMPNS, 1);
            port.bind(index);
            return port;
        } catch (Throwable e) {
            port.close();
            throw e;
        }
    }

    private static long headers() {
        long headers = Libc.allocateZeroed((long) BURST * (MMSGHDR_BYTES + IOVEC_BYTES));
        for (int i = 0; i < BURST; i++) {
            NativeMemory.putLong(header(headers, i) + MSG_IOV, vector(headers, i));
            NativeMemory.putLong(header(headers, i) + MSG_IOVLEN, 1);
        }
        return headers;
    }

    private long control(int i) {
        return receiveControls + (long) i * CONTROL_BYTES;
    }

    private static long header(long headers, int i) {
        return headers + (long) i * MMSGHDR_BYTES;
    }

    private static long vector(long headers, int i) {
        return headers + (long) BURST * MMSGHDR_BYTES + (long) i * IOVEC_BYTES;
    }

    private void setOption(int level, int option, int value) throws IOException {
        long address = Libc.allocateZeroed(Integer.BYTES);
        try {
            NativeMemory.putInt(address, value);
            int result = socket.setOption(level, option, address, Integer.BYTES);
            if (result < 0) {
                throw new IOException("setsockopt " + option + " on " + name + ": " + Errno.describe(-result));
            }
        } finally {
            Libc.free(address);
        }
    }

    private void bind(int index) throws IOException {
        long address = Libc.allocateZeroed(SOCKADDR_LL_BYTES);
        try {
            NativeMemory.putShort(address, (short) AF_PACKET);
            boolean swap = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
            NativeMemory.putShort(address + 2, swap ? Short.reverseBytes(ETH_P_ALL) : ETH_P_ALL);
            NativeMemory.putInt(address + 4, index);
            int result = socket.bind(address, SOCKADDR_LL_BYTES);
            if (result != 0) {
                throw new IOException("cannot bind a packet socket to " + name + ": " + Errno.describe(result));
            }
        } finally {
            Libc.free(address);
        }
    }

    /** Returns the file descriptor to wait on. */
    public int fd() {
        return socket.fd();
    }

    /** Sets the memory for frame {@code i} of the next received burst. */
    public void receiveInto(int i, long address, int capacityBytes) {
        NativeMemory.putLong(vector(receiveHeaders, i), address);
        NativeMemory.putLong(vector(receiveHeaders, i) + 8, capacityBytes);
    }

    /** Receives up to {@code limit} frames into the memory set by {@link #receiveInto}, and returns their number. */
    public int receive(int limit) {
        for (int i = 0; i < limit; i++) {
            NativeMemory.putLong(header(receiveHeaders, i) + MSG_CONTROL, control(i));
            NativeMemory.putLong(header(receiveHeaders, i) + MSG_CONTROLLEN, CONTROL_BYTES);
        }
        int received = NativeCall.intValue(RECVMMSG, fd(), receiveHeaders, limit, 0, 0);
        return orZero(received, "recvmmsg");
    }

    /**
     * Returns when the kernel received frame {@code i} of the last burst, in nanoseconds of the real-time clock since
     * 1970. The time does not depend on when this thread runs. Returns 0 if the kernel provided no timestamp.
     */
    long receivedRealTimeNanos(int i) {
        if (NativeMemory.getLong(header(receiveHeaders, i) + MSG_CONTROLLEN) < CONTROL_BYTES) {
            return 0;
        }
        return NativeMemory.getLong(control(i) + CONTROL_SECONDS) * 1_000_000_000L
                + NativeMemory.getLong(control(i) + CONTROL_NANOS);
    }

    /** Returns the length of frame {@code i} of the last burst; negative if the frame was longer than its memory. */
    public int receivedBytes(int i) {
        long header = header(receiveHeaders, i);
        int length = NativeMemory.getInt(header + MSG_LEN);
        return (NativeMemory.getInt(header + MSG_FLAGS) & MSG_TRUNC) == 0 ? length : -length;
    }

    /** Sets frame {@code i} of the next burst to send. */
    public void sendFrom(int i, long address, int lengthBytes) {
        NativeMemory.putLong(vector(sendHeaders, i), address);
        NativeMemory.putLong(vector(sendHeaders, i) + 8, lengthBytes);
    }

    /** Sends the first {@code count} frames and returns the number sent, which is less if the interface had no room. */
    public int send(int count) {
        return orZero(NativeCall.intValue(SENDMMSG, fd(), sendHeaders, count, 0), "sendmmsg");
    }

    private int orZero(int result, String call) {
        if (result >= 0) {
            return result;
        }
        int errno = -result;
        if (errno == Errno.EAGAIN || errno == Errno.ENOBUFS || errno == Errno.EINTR) {
            return 0;
        }
        throw new IllegalStateException(call + " on " + name + ": " + Errno.describe(errno));
    }

    /** Returns the number of frames that the kernel dropped since the last call because the socket buffer was full. */
    public long kernelDrops() {
        long memory = Libc.allocateZeroed(16);
        try {
            NativeMemory.putInt(memory + 8, 8);
            int result = NativeCall.intValue(GETSOCKOPT, fd(), SOL_PACKET, PACKET_STATISTICS, memory, memory + 8);
            return result < 0 ? 0 : Integer.toUnsignedLong(NativeMemory.getInt(memory + 4));
        } finally {
            Libc.free(memory);
        }
    }

    @Override
    public void close() {
        socket.close();
        Libc.free(receiveHeaders);
        Libc.free(sendHeaders);
        Libc.free(receiveControls);
    }
}
