package io.rdmaraw.testsuite.goodput;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.testsuite.net.LinkEmulator;
import io.rdmaraw.testsuite.net.PacketPort;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import java.util.HexFormat;

/**
 * Runs the TCP core as the sending host on a network interface, in real time and over a packet socket. The
 * interface must not have an IP address; otherwise its kernel would answer as well.
 */
final class CoreSender implements AutoCloseable {
    private static final int FRAME_BYTES = 2048;
    private static final int PORT = 40_000;
    private static final long MAX_WAIT_NANOS = 100_000_000;

    private final PacketPort port;
    private final long memory = Libc.allocateZeroed(2L * PacketPort.BURST * FRAME_BYTES);
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame frame = new ParsedFrame();
    private final TcpHeaderCodec headers = new TcpHeaderCodec();
    private final Segment segment = new Segment();
    private final ByteBuf chunk = BulkEnd.newChunk(true);
    private final BulkEnd end;
    private final long ourMac;
    private final long peerMac;
    private final long ourAddress;
    private final long peerAddress;

    CoreSender(VethEnd ours, VethEnd peer, CongestionControl.Factory algorithm, long seed) {
        port = PacketPort.open(ours);
        end = new BulkEnd(GoodputConfig.of(algorithm), seed, chunk, System.nanoTime());
        ourMac = mac(ours);
        peerMac = mac(peer);
        ourAddress = mapped(ours.ipv4());
        peerAddress = mapped(peer.ipv4());
        for (int i = 0; i < PacketPort.BURST; i++) {
            port.receiveInto(i, inbound(i), FRAME_BYTES);
        }
    }

    private static long mac(VethEnd end) {
        return HexFormat.fromHexDigitsToLong(end.mac().replace(":", ""));
    }

    private static long mapped(String ipv4) {
        long address = 0xFFFF;
        for (String part : ipv4.split("\\.")) {
            address = address << 8 | Integer.parseInt(part);
        }
        return address;
    }

    private long inbound(int i) {
        return memory + (long) i * FRAME_BYTES;
    }

    private long outbound(int i) {
        return memory + (long) (PacketPort.BURST + i) * FRAME_BYTES;
    }

    /** Sends for this time, then resets the connection. */
    void send(int seconds) {
        LinkEmulator.raiseTimerPrecision();
        long now = System.nanoTime();
        long last = now + seconds * 1_000_000_000L;
        TcpConnection connection = end.engine.connect(now, 0, ourAddress, PORT, 0, peerAddress, KernelTransfer.PORT,
                null, 0, null);
        try (FdWaiter waiter = new FdWaiter(port.fd())) {
            while (now < last) {
                int received = receive();
                now = System.nanoTime();
                end.engine.advance(now);
                if (transmit(now) + received == 0) {
                    waiter.await(Math.clamp(end.engine.nextDeadlineNanos() - now, 0, MAX_WAIT_NANOS));
                }
            }
            connection.abort();
            transmit(now);
        }
    }

    private int receive() {
        int count = port.receive(PacketPort.BURST);
        long now = System.nanoTime();
        for (int i = 0; i < count; i++) {
            if (parser.parse(inbound(i), port.receivedBytes(i), false, frame) == ParseVerdict.TCP
                    && frame.destinationPort() == PORT) {
                headers.read(frame, segment);
                end.engine.onSegment(segment, now);
            }
        }
        return count;
    }

    private int transmit(long now) {
        int total = 0;
        int count;
        do {
            count = 0;
            while (count < PacketPort.BURST && end.engine.pollSegment(now, segment)) {
                port.sendFrom(count, outbound(count), write(outbound(count)));
                segment.releasePayload();
                count++;
            }
            // As on any device, packets are lost if the interface has no room for them.
            total += count > 0 ? port.send(count) : 0;
        } while (count == PacketPort.BURST);
        return total;
    }

    private int write(long address) {
        EthernetHeader.write(address, peerMac, ourMac, EtherType.IPV4);
        long ip = address + EthernetHeader.LENGTH_BYTES;
        int headerBytes = TcpHeaderCodec.headersLengthBytes(segment);
        long at = ip + headerBytes;
        for (int i = 0; i < segment.sliceCount(); i++) {
            NativeMemory.copy(segment.sliceBuffer(i).memoryAddress() + segment.sliceIndex(i), at,
                    segment.sliceLength(i));
            at += segment.sliceLength(i);
        }
        TcpHeaderCodec.write(segment, ip, InternetChecksum.sum(ip + headerBytes, segment.payloadLength()));
        return EthernetHeader.LENGTH_BYTES + headerBytes + segment.payloadLength();
    }

    @Override
    public void close() {
        end.engine.shutdown();
        port.close();
        Libc.free(memory);
        chunk.release();
    }
}
