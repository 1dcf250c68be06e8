package io.rdmaraw.testsuite.script;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;

/**
 * A TUN device in a new network namespace of the calling thread; both disappear with the thread. Only this thread
 * may use the device. Sockets that it opens belong to the namespace too. Requires root.
 */
@SuppressWarnings("restricted")
final class TunDevice implements AutoCloseable {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final int CLONE_NEWNET = 0x4000_0000;
    private static final int O_RDWR = 2;
    private static final long TUNSETIFF = 0x400454caL;
    private static final short IFF_TUN_NO_PI = 0x1001;
    private static final short POLLIN = 1;
    private static final int IFREQ_BYTES = 40;
    private static final int PACKET_BYTES = 65_536;

    private static final MethodHandle UNSHARE = handle("unshare", FunctionDescriptor.of(ValueLayout.JAVA_INT,
            ValueLayout.JAVA_INT));
    private static final MethodHandle OPEN = handle("open", FunctionDescriptor.of(ValueLayout.JAVA_INT,
            ValueLayout.ADDRESS, ValueLayout.JAVA_INT), Linker.Option.firstVariadicArg(2));
    private static final MethodHandle IOCTL = handle("ioctl", FunctionDescriptor.of(ValueLayout.JAVA_INT,
            ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.ADDRESS), Linker.Option.firstVariadicArg(2));
    private static final MethodHandle READ = handle("read", FunctionDescriptor.of(ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG));
    private static final MethodHandle WRITE = handle("write", FunctionDescriptor.of(ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG));
    private static final MethodHandle POLL = handle("poll", FunctionDescriptor.of(ValueLayout.JAVA_INT,
            ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
    private static final MethodHandle CLOSE = handle("close", FunctionDescriptor.of(ValueLayout.JAVA_INT,
            ValueLayout.JAVA_INT));

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment buffer = arena.allocate(PACKET_BYTES);
    private final MemorySegment pollFd = arena.allocate(8, 4);
    private final int fd;

    /** Enters a new namespace and creates the device {@code name} in it. */
    TunDevice(String name) throws IOException {
        check(call(() -> (int) UNSHARE.invokeExact(CLONE_NEWNET)), "unshare(CLONE_NEWNET)");
        MemorySegment path = arena.allocateFrom("/dev/net/tun");
        fd = check(call(() -> (int) OPEN.invokeExact(path, O_RDWR)), "open(/dev/net/tun)");
        MemorySegment request = arena.allocate(IFREQ_BYTES, 8);
        byte[] bytes = name.getBytes(StandardCharsets.US_ASCII);
        MemorySegment.copy(bytes, 0, request, ValueLayout.JAVA_BYTE, 0, bytes.length);
        request.set(ValueLayout.JAVA_SHORT, 16, IFF_TUN_NO_PI);
        check(call(() -> (int) IOCTL.invokeExact(fd, TUNSETIFF, request)), "ioctl(TUNSETIFF)");
    }

    private static MethodHandle handle(String name, FunctionDescriptor descriptor, Linker.Option... options) {
        return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), descriptor, options);
    }

    /** A native call. */
    private interface Call {
        int run() throws Throwable;
    }

    private static int call(Call call) throws IOException {
        try {
            return call.run();
        } catch (Throwable e) {
            throw new IOException(e);
        }
    }

    private static int check(int result, String what) throws IOException {
        if (result < 0) {
            throw new IOException(what + " failed; it needs root and the tun module");
        }
        return result;
    }

    void write(byte[] packet) throws IOException {
        MemorySegment.copy(packet, 0, buffer, ValueLayout.JAVA_BYTE, 0, packet.length);
        check(call(() -> (int) (long) WRITE.invokeExact(fd, buffer, (long) packet.length)), "write to the TUN device");
    }

    /**
     * Returns the next packet that the kernel sends through the device, or null if none arrives within the
     * timeout.
     */
    byte[] read(int timeoutMillis) throws IOException {
        pollFd.set(ValueLayout.JAVA_INT, 0, fd);
        pollFd.set(ValueLayout.JAVA_SHORT, 4, POLLIN);
        int ready = check(call(() -> (int) POLL.invokeExact(pollFd, 1L, timeoutMillis)), "poll of the TUN device");
        if (ready == 0) {
            return null;
        }
        int length = check(call(() -> (int) (long) READ.invokeExact(fd, buffer, (long) PACKET_BYTES)),
                "read from the TUN device");
        return buffer.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
    }

    @Override
    public void close() {
        try {
            call(() -> (int) CLOSE.invokeExact(fd));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        } finally {
            arena.close();
        }
    }
}
