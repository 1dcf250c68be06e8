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
 * A thread with the peers of a {@link HostileKind}. They send raw frames by a packet socket, because a kernel would not
 * let them misbehave.
 */
final class HostileLoad implements AutoCloseable, HostileWire {
    private static final int FRAME_BYTES = 2048;
    /** In the header of IPv4. */
    private static final int TOTAL_LENGTH_OFFSET = 2;
    private static final long MAPPED = 0xFFFF_0000_0000L;
    private static final long PAUSE_NANOS = 200_000;
    private static final double NANOS_PER_SECOND = 1e9;
    /** Actions that are caught up on at most; later ones are dropped. */
    private static final long MOST_BEHIND = 2_000;

    private final long received = Libc.allocateZeroed((long) PacketPort.BURST * FRAME_BYTES);
    private final long sending = Libc.allocateZeroed((long) PacketPort.BURST * FRAME_BYTES);
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
            port.receiveInto(i, received + (long) i * FRAME_BYTES, FRAME_BYTES);
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
            done = Math.max(done, due - MOST_BEHIND);
            for (int i = 0; i < PacketPort.BURST && done < due; i++, done++) {
                peers.act(System.nanoTime());
            }
            peers.tend(System.nanoTime());
            count = peers.count();
            boolean busy = heard > 0 || done < due;
            flush();
            if (!busy) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /** Handles a received frame unless it belongs to the connections of the bench, which the kernel serves. */
    private void hear(int i, int lengthBytes) {
        long frame = received + (long) i * FRAME_BYTES;
        if (lengthBytes <= EthernetHeader.LENGTH_BYTES || EthernetHeader.etherType(frame) != EtherType.IPV4
                || EthernetHeader.destination(frame) == ownMac) {
            return;
        }
        byte[] bytes = NativeMemory.segment(frame + EthernetHeader.LENGTH_BYTES,
                lengthBytes - EthernetHeader.LENGTH_BYTES).toArray(ValueLayout.JAVA_BYTE);
        Packet packet = Packet.decode(withoutPadding(bytes));
        if (packet != null) {
            peers.hears(packet);
        }
    }

    /** Returns an IPv4 packet without what Ethernet's least length has added to it. */
    static byte[] withoutPadding(byte[] packet) {
        if (packet.length <= TOTAL_LENGTH_OFFSET + 1) {
            return packet;
        }
        int totalBytes = Byte.toUnsignedInt(packet[TOTAL_LENGTH_OFFSET]) << Byte.SIZE
                | Byte.toUnsignedInt(packet[TOTAL_LENGTH_OFFSET + 1]);
        return totalBytes < packet.length ? Arrays.copyOf(packet, totalBytes) : packet;
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
                long frame = sending + (long) count * FRAME_BYTES;
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

    /** Returns the number of frames that the interface has taken. */
    long sent() {
        return sent;
    }

    /** Returns how many peers the server deals with. */
    int count() {
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
