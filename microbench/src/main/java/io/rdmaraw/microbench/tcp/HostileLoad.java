package io.rdmaraw.microbench.tcp;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.testsuite.net.PacketPort;
import io.rdmaraw.testsuite.sim.Packet;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that runs the peers of a {@link HostileKind}. They send raw frames through a packet socket, because sockets
 * of the kernel cannot violate the protocol.
 */
final class HostileLoad implements AutoCloseable, HostileWire {
    private static final int SENT_BYTES = 2048;
    /**
     * Size of a receive buffer. A server with segmentation offload sends packets of up to the maximum IP length over
     * veth.
     */
    private static final int RECEIVED_BYTES = 1 << 17;
    /** Offsets in the IPv4 header. */
    private static final int TOTAL_LENGTH_OFFSET = 2;
    private static final int SOURCE_OFFSET = 12;
    private static final int ADDRESSES_BYTES = 8;
    private static final int WORDS_OF_HEADER = 0xF;
    /** Offset in the TCP header. */
    private static final int CHECKSUM_OFFSET = 16;
    private static final int TCP_BYTES = 20;
    private static final int TCP = 6;
    private static final long MAPPED = 0xFFFF_0000_0000L;
    private static final long PAUSE_NANOS = 200_000;
    private static final double NANOS_PER_SECOND = 1e9;
    /** Maximum number of overdue actions to catch up on. Further overdue actions are dropped. */
    private static final long MAX_BEHIND = 2_000;

    private final long received = Libc.allocateZeroed((long) PacketPort.BURST * RECEIVED_BYTES);
    private final long sending = Libc.allocateZeroed((long) PacketPort.BURST * SENT_BYTES);
    private final ArrayDeque<byte[]> toSend = new ArrayDeque<>();
    private final HostileKind kind;
    private final HostilePeers peers;
    private final PacketPort port;
    private final long serverMac;
    private final long ownMac;
    private final long server;
    private final int firstPort;
    private final Thread thread = new Thread(this::run, "hostile");
    private volatile boolean ended;
    private volatile long sent;
    private volatile int count;
    private volatile int most;

    /** Starts the thread. */
    HostileLoad(String address, int firstPort, HostileKind kind) {
        this.kind = kind;
        this.firstPort = firstPort;
        try {
            InetAddress target = InetAddress.ofLiteral(address);
            NetworkInterface link = Flood.linkTo(target);
            server = MAPPED + Flood.lastBytesOf(target);
            serverMac = Flood.macOf(address);
            ownMac = Flood.macOf(link.getHardwareAddress());
            port = PacketPort.open(link.getName(), link.getIndex());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        for (int i = 0; i < PacketPort.BURST; i++) {
            port.receiveInto(i, received + (long) i * RECEIVED_BYTES, RECEIVED_BYTES);
        }
        peers = kind.on(this);
        thread.start();
    }

    private void run() {
        long begin = System.nanoTime();
        long done = 0;
        while (!ended) {
            int heard = port.receive(PacketPort.BURST);
            for (int i = 0; i < heard; i++) {
                hear(i, port.receivedBytes(i));
            }
            long due = (long) ((System.nanoTime() - begin) / NANOS_PER_SECOND * kind.perSecond());
            done = Math.max(done, due - MAX_BEHIND);
            for (int i = 0; i < PacketPort.BURST && done < due; i++, done++) {
                peers.act(System.nanoTime());
            }
            peers.tend(System.nanoTime());
            count = peers.count();
            most = Math.max(most, count);
            boolean busy = heard > 0 || done < due;
            flush();
            if (!busy) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /**
     * Handles a received frame. Frames to the MAC address of the interface belong to the regular connections of the
     * bench, which the kernel serves. They are ignored here.
     */
    private void hear(int i, int lengthBytes) {
        long frame = received + (long) i * RECEIVED_BYTES;
        if (lengthBytes <= EthernetHeader.LENGTH_BYTES || EthernetHeader.etherType(frame) != EtherType.IPV4
                || EthernetHeader.destination(frame) == ownMac) {
            return;
        }
        byte[] bytes = NativeMemory.segment(frame + EthernetHeader.LENGTH_BYTES,
                lengthBytes - EthernetHeader.LENGTH_BYTES).toArray(ValueLayout.JAVA_BYTE);
        Packet packet = Packet.decode(withChecksum(withoutPadding(bytes)));
        if (packet != null) {
            peers.hears(packet);
        }
    }

    /** Returns an IPv4 packet without the padding that Ethernet adds to short frames. */
    static byte[] withoutPadding(byte[] packet) {
        if (packet.length <= TOTAL_LENGTH_OFFSET + 1) {
            return packet;
        }
        int totalBytes = Byte.toUnsignedInt(packet[TOTAL_LENGTH_OFFSET]) << Byte.SIZE
                | Byte.toUnsignedInt(packet[TOTAL_LENGTH_OFFSET + 1]);
        return totalBytes < packet.length ? Arrays.copyOf(packet, totalBytes) : packet;
    }

    /**
     * Completes the TCP checksum if the sender left it to its interface. In that case the checksum field contains the
     * sum of the pseudo header.
     */
    static byte[] withChecksum(byte[] packet) {
        int at = packet.length == 0 ? 0 : (packet[0] & WORDS_OF_HEADER) * Integer.BYTES;
        if (packet.length < at + TCP_BYTES) {
            return packet;
        }
        int pseudo = fold(sum(packet, SOURCE_OFFSET, SOURCE_OFFSET + ADDRESSES_BYTES) + TCP + packet.length - at);
        int checksum = at + CHECKSUM_OFFSET;
        int found = Byte.toUnsignedInt(packet[checksum]) << Byte.SIZE | Byte.toUnsignedInt(packet[checksum + 1]);
        if (found == pseudo) {
            int complete = ~fold(sum(packet, at, packet.length));
            packet[checksum] = (byte) (complete >> Byte.SIZE);
            packet[checksum + 1] = (byte) complete;
        }
        return packet;
    }

    private static long sum(byte[] bytes, int from, int end) {
        long sum = 0;
        for (int i = from; i < end; i++) {
            sum += (long) Byte.toUnsignedInt(bytes[i]) << ((i - from & 1) == 0 ? Byte.SIZE : 0);
        }
        return sum;
    }

    private static int fold(long sum) {
        long folded = sum;
        while (folded >> Short.SIZE != 0) {
            folded = (folded & 0xFFFF) + (folded >> Short.SIZE);
        }
        return (int) folded;
    }

    @Override
    public void send(Packet packet) {
        toSend.add(packet.encode());
    }

    private void flush() {
        while (!toSend.isEmpty() && !ended) {
            int count = 0;
            for (byte[] packet : toSend) {
                if (count == PacketPort.BURST) {
                    break;
                }
                long frame = sending + (long) count * SENT_BYTES;
                EthernetHeader.write(frame, serverMac, ownMac, EtherType.IPV4);
                MemorySegment.copy(packet, 0, NativeMemory.segment(frame + EthernetHeader.LENGTH_BYTES, packet.length),
                        ValueLayout.JAVA_BYTE, 0, packet.length);
                port.sendFrom(count, frame, EthernetHeader.LENGTH_BYTES + packet.length);
                count++;
            }
            int taken = port.send(count);
            for (int i = 0; i < taken; i++) {
                toSend.remove();
            }
            sent += taken;
        }
    }

    @Override
    public long server() {
        return server;
    }

    @Override
    public int firstPort() {
        return firstPort;
    }

    /** Returns the number of frames that the interface has accepted. */
    long sent() {
        return sent;
    }

    /**
     * Returns the number of peers that currently have state at the server.
     *
     * @throws IllegalStateException if no peer ever had state, which means that the attack never reached the server
     */
    int count() {
        if (most == 0) {
            throw new IllegalStateException("no hostile peer has got as far as a connection: look with tcpdump at what"
                    + " the server answers them");
        }
        return count;
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
        Libc.free(received);
        Libc.free(sending);
    }
}
