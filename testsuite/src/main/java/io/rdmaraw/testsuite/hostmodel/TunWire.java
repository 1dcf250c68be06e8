package io.rdmaraw.testsuite.hostmodel;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** The far end of a TUN device. Its packets have no Ethernet header; this class adds one without a next hop. */
final class TunWire implements Wire {
    private static final long OPEN = Libc.address("open");
    private static final long IOCTL = Libc.address("ioctl");
    private static final int O_RDWR_NONBLOCK_CLOEXEC = 0x80802;
    private static final long TUNSETIFF = 0x400454caL;
    private static final short IFF_TUN_NO_PI = 0x1001;
    private static final int FLAGS_OFFSET = 16;
    private static final int MEMORY_BYTES = 2048;

    private final int fd;
    private final long memory = Libc.allocateZeroed(MEMORY_BYTES);
    private final byte[] bytes = new byte[MEMORY_BYTES];

    /** Attaches to a device in the namespace of the calling thread. */
    TunWire(String name, long hostMac) throws IOException {
        put("/dev/net/tun");
        fd = NativeCall.intValue(OPEN, memory, O_RDWR_NONBLOCK_CLOEXEC, 0);
        check(fd, "open /dev/net/tun");
        put(name);
        NativeMemory.putShort(memory + FLAGS_OFFSET, IFF_TUN_NO_PI);
        check(NativeCall.intValue(IOCTL, fd, TUNSETIFF, memory), "attach to " + name);
        ByteBuffer.wrap(bytes).position(6).putShort((short) (hostMac >> 32)).putInt((int) hostMac);
    }

    private void put(String text) {
        byte[] ascii = (text + '\0').getBytes(StandardCharsets.US_ASCII);
        NativeMemory.putBytes(memory, ascii, 0, ascii.length);
    }

    private static void check(int result, String call) throws IOException {
        if (result < 0) {
            throw new IOException("cannot " + call + ": " + Errno.describe(-result));
        }
    }

    @Override
    public boolean inject(byte[] frame) {
        int length = frame.length - Frame.ETHERNET_BYTES;
        NativeMemory.putBytes(memory, frame, Frame.ETHERNET_BYTES, length);
        return Libc.write(fd, memory, length) == length;
    }

    @Override
    public boolean read(Consumer<Frame> receiver) {
        boolean any = false;
        long length = Libc.read(fd, memory, MEMORY_BYTES - Frame.ETHERNET_BYTES);
        while (length > 0) {
            any = true;
            NativeMemory.getBytes(memory, bytes, Frame.ETHERNET_BYTES, (int) length);
            boolean ipv6 = bytes[Frame.ETHERNET_BYTES] >> 4 == 6;
            bytes[12] = (byte) (ipv6 ? 0x86 : 0x08);
            bytes[13] = (byte) (ipv6 ? 0xdd : 0x00);
            Frame frame = Frame.parse(bytes, (int) length + Frame.ETHERNET_BYTES);
            if (frame != null) {
                receiver.accept(frame);
            }
            length = Libc.read(fd, memory, MEMORY_BYTES - Frame.ETHERNET_BYTES);
        }
        return any;
    }

    @Override
    public void close() {
        Libc.close(fd);
        Libc.free(memory);
    }
}
