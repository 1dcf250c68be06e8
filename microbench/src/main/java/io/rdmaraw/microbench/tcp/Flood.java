package io.rdmaraw.microbench.tcp;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.testsuite.net.PacketPort;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.MacAddress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;

/**
 * A thread that sends frames from changing addresses and ports to a server, as fast as the interface accepts them. The
 * frames are prepared in advance, so that the thread only sends.
 */
final class Flood implements AutoCloseable {
    /**
     * Number of different frames. It is a multiple of a backlog, so that few SYNs match a half-open connection of an
     * earlier round.
     */
    private static final int FRAMES = 1 << 16;
    private static final int FRAME_BYTES = 128;
    private static final int CHECKSUM_OFFSET_BYTES = EthernetHeader.LENGTH_BYTES + 20 + 16;
    private static final Path NEIGHBORS = Path.of("/proc/net/arp");

    private final long frames = Libc.allocateZeroed((long) FRAMES * FRAME_BYTES);
    private final int[] lengthsBytes = new int[FRAMES];
    private final PacketPort port;
    private final Thread thread = new Thread(this::run, "flood");
    private volatile boolean ended;
    private volatile long sent;

    /**
     * Starts the thread.
     *
     * @param kind kind of segments, or {@code null} for SYNs with wrong checksums. These cost the generator and the
     *             device the same as valid ones, but the server only verifies the checksum.
     */
    Flood(String server, int serverPort, FloodKind kind) {
        try {
            InetAddress target = InetAddress.ofLiteral(server);
            NetworkInterface link = linkTo(target);
            fill(kind, new FloodKind.Target(macOf(server), macOf(link.getHardwareAddress()), lastBytesOf(target),
                    serverPort));
            port = PacketPort.open(link.getName(), link.getIndex());
        } catch (IOException e) {
            Libc.free(frames);
            throw new UncheckedIOException(e);
        }
        thread.start();
    }

    /**
     * Returns the interface that leads to the server. In the namespaces of the bench this is any interface other than
     * loopback.
     */
    static NetworkInterface linkTo(InetAddress target) throws IOException {
        return NetworkInterface.networkInterfaces().filter(link -> link.inetAddresses()
                .anyMatch(address -> address instanceof Inet4Address && !address.isLoopbackAddress())).findFirst()
                .orElseThrow(() -> new ToolException("no interface leads to " + target.getHostAddress()));
    }

    /** Returns the MAC address of the server. The kernel has resolved it for the connections to the server. */
    static long macOf(String server) throws IOException {
        return Files.readAllLines(NEIGHBORS).stream().map(line -> line.split("\\s+"))
                .filter(columns -> columns[0].equals(server)).findFirst()
                .map(columns -> MacAddress.parse(columns[3]))
                .orElseThrow(() -> new ToolException("the kernel does not know the MAC address of " + server));
    }

    static long macOf(byte[] bytes) {
        long mac = 0;
        for (byte part : bytes) {
            mac = mac << Byte.SIZE | part & 0xff;
        }
        return mac;
    }

    static long lastBytesOf(InetAddress target) {
        long address = 0;
        for (byte part : target.getAddress()) {
            address = address << Byte.SIZE | part & 0xff;
        }
        return address;
    }

    private void fill(FloodKind kindOrNull, FloodKind.Target target) {
        SplittableRandom random = new SplittableRandom(5);
        FloodKind kind = kindOrNull == null ? FloodKind.SYN : kindOrNull;
        for (int i = 0; i < FRAMES; i++) {
            lengthsBytes[i] = kind.write(frame(i), target, random);
            if (kindOrNull == null) {
                long checksum = frame(i) + CHECKSUM_OFFSET_BYTES;
                NativeMemory.putShort(checksum, (short) (NativeMemory.getShort(checksum) ^ 0x5a5a));
            }
        }
    }

    private long frame(int i) {
        return frames + (long) i * FRAME_BYTES;
    }

    private void run() {
        int next = 0;
        while (!ended) {
            for (int i = 0; i < PacketPort.BURST; i++) {
                int index = next + i & FRAMES - 1;
                port.sendFrom(i, frame(index), lengthsBytes[index]);
            }
            int count = port.send(PacketPort.BURST);
            next = next + count & FRAMES - 1;
            sent += count;
        }
    }

    /** Returns the number of frames that the interface has accepted. */
    long sent() {
        return sent;
    }

    @Override
    public void close() {
        ended = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        port.close();
        Libc.free(frames);
    }
}
