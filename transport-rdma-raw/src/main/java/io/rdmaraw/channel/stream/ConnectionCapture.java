package io.rdmaraw.channel.stream;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.channel.io.StreamInbox;
import io.rdmaraw.kernel.KernelTransport;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.pcap.PcapFormat;
import io.rdmaraw.pcap.PcapWriter;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.tcp.stack.receive.SegmentObserver;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.wire.InternetChecksum;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.NotYetConnectedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.concurrent.TimeUnit;

/**
 * Writes the segments of one connection to a pcap file of limited size. A payload that the device segments (TSO), and
 * segments that are merged on receipt (GRO), are recorded as one packet, as in captures of the kernel. Used on the
 * loop's thread only.
 */
public final class ConnectionCapture implements SegmentObserver {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(ConnectionCapture.class);
    private static final int MAX_HEADER_BYTES = 128;
    private static final long MIN_BYTES = 1024;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private final TcpStack stack;
    private final IpAddress local;
    private final int localPort;
    private final IpAddress remote;
    private final int remotePort;
    private final PcapWriter writer;
    private final ByteBuf packet;
    private final byte[] bytes;
    private long remainingBytes;
    private boolean ended;

    private ConnectionCapture(TcpStack stack, InetSocketAddress local, InetSocketAddress remote, Path file,
                              long maxBytes) throws IOException {
        this.stack = stack;
        this.local = IpAddress.of(local.getAddress());
        localPort = local.getPort();
        this.remote = IpAddress.of(remote.getAddress());
        remotePort = remote.getPort();
        packet = ByteBufAllocator.DEFAULT.directBuffer(MAX_HEADER_BYTES + TcpConfig.MAX_SEGMENTATION_BYTES);
        bytes = new byte[packet.capacity()];
        remainingBytes = maxBytes - PcapFormat.FILE_HEADER_BYTES;
        try {
            // Unbuffered, so that captured packets are in the file even if the loop fails.
            writer = PcapWriter.create(Files.newOutputStream(file), PcapFormat.LINKTYPE_RAW);
        } catch (IOException e) {
            packet.release();
            throw e;
        }
    }

    static void checkMaxBytes(long maxBytes) {
        if (maxBytes < MIN_BYTES) {
            throw new IllegalArgumentException("maxBytes is " + maxBytes + "; a capture needs " + MIN_BYTES
                    + " at least");
        }
    }

    /** Starts to capture the connection of a channel. Called on the channel's loop. */
    static ConnectionCapture begin(SocketChannel channel, StreamInbox.Connection connection, Path file, long maxBytes)
            throws IOException {
        TcpStack stack = connection.tcpStack();
        if (!channel.isActive() || stack == null) {
            throw new NotYetConnectedException();
        }
        if (connection.transport() instanceof KernelTransport) {
            throw new UnsupportedOperationException("the kernel carries the connection: see tcpdump(8)");
        }
        if (stack.isObserved()) {
            throw new IllegalStateException("another connection of this loop is being captured; wait for its end");
        }
        ConnectionCapture capture =
                new ConnectionCapture(stack, channel.localAddress(), channel.remoteAddress(), file, maxBytes);
        stack.observeSegments(capture);
        channel.closeFuture().addListener(closed -> capture.scheduleEnd(channel.eventLoop()));
        return capture;
    }

    /**
     * Ends the capture after a second, so that it includes the last segments. If the loop shuts down, it rejects or
     * cancels the task, and the capture ends immediately.
     */
    private void scheduleEnd(EventLoop loop) {
        if (loop.isShuttingDown()) {
            end();
        } else {
            loop.schedule(this::end, 1, TimeUnit.SECONDS).addListener(done -> end());
        }
    }

    @Override
    public void onSegment(Segment segment) {
        if (isOfConnection(segment) && segment.payloadLength() <= TcpConfig.MAX_SEGMENTATION_BYTES) {
            try {
                write(segment);
            } catch (IOException e) {
                LOGGER.warn("capture of port {} stopped: the file cannot be written: {}", localPort, e.toString());
                end();
            }
        }
    }

    private boolean isOfConnection(Segment s) {
        return isFrom(s, local, localPort, remote, remotePort) || isFrom(s, remote, remotePort, local, localPort);
    }

    private static boolean isFrom(Segment s, IpAddress source, int sourcePort, IpAddress target, int targetPort) {
        return s.sourcePort == sourcePort && s.destinationPort == targetPort && s.sourceLow == source.low()
                && s.sourceHigh == source.high() && s.destinationLow == target.low()
                && s.destinationHigh == target.high();
    }

    private void write(Segment segment) throws IOException {
        int headerBytes = TcpHeaderCodec.headersLengthBytes(segment);
        int lengthBytes = headerBytes + segment.payloadLength();
        remainingBytes -= PcapFormat.RECORD_HEADER_BYTES + lengthBytes;
        if (remainingBytes < 0) {
            end();
            return;
        }
        packet.setIndex(0, headerBytes);
        for (int i = 0; i < segment.sliceCount(); i++) {
            packet.writeBytes(segment.sliceBuffer(i), segment.sliceIndex(i), segment.sliceLength(i));
        }
        long sum = InternetChecksum.sum(packet, headerBytes, segment.payloadLength());
        TcpHeaderCodec.write(segment, packet.memoryAddress(), sum);
        packet.getBytes(0, bytes, 0, lengthBytes);
        Instant now = Instant.now();
        writer.write(now.getEpochSecond() * NANOS_PER_SECOND + now.getNano(), bytes, 0, lengthBytes);
    }

    /** Ends the capture. Has no effect if it has ended. */
    public void end() {
        if (ended) {
            return;
        }
        ended = true;
        stack.observeSegments(null);
        packet.release();
        try {
            writer.close();
        } catch (IOException e) {
            LOGGER.warn("capture of port {} may be incomplete: {}", localPort, e.toString());
        }
    }
}
