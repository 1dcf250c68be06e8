package io.rdmaraw.examples.server;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelOption;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.SelectStrategy;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.uring.IoUringBufferRingConfig;
import io.netty.channel.uring.IoUringChannelOption;
import io.netty.channel.uring.IoUringFixedBufferRingAllocator;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.channel.uring.IoUringIoHandlerConfig;

import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A setting of Netty's epoll or io_uring transport that helps under some loads. Benchmarks use it to compare with tuned
 * rivals; {@code rdma-raw} is measured with its defaults and has no such settings.
 */
public enum Tuning {
    /** 32 datagrams per receive. epoll uses {@code recvmmsg}; io_uring submits 32 receives together. */
    RECVMMSG(Channels.DATAGRAM, Transport.EPOLL, Transport.IO_URING),
    /** 8 datagrams per receive, which needs a smaller buffer, and up to 64 before the channel flushes. */
    RECVMMSG_8(Channels.DATAGRAM, Transport.EPOLL, Transport.IO_URING),
    /** Up to 64 datagrams instead of 16 are read before the channel flushes, so that {@code sendmmsg} sends more. */
    READ_64(Channels.DATAGRAM, Transport.EPOLL, Transport.IO_URING),
    /** Buffers come from Netty's pooled allocator instead of its adaptive allocator. */
    POOLED(Channels.ANY, Transport.EPOLL, Transport.IO_URING),
    /** {@code SO_BUSY_POLL} of 50 us. It has an effect on devices with NAPI only. */
    BUSY_POLL(Channels.ANY, Transport.EPOLL),
    /** The loop polls and never sleeps. */
    BUSY_WAIT(Channels.ANY, Transport.EPOLL),
    /** A ring of 1,024 buffers of 2 KiB, which also enables multishot receives. */
    BUFFER_RING(Channels.STREAM, Transport.IO_URING),
    /** A ring of 64 buffers of 64 KiB, each of which the kernel fills by several receives. */
    INCREMENTAL_BUFFER_RING(Channels.STREAM, Transport.IO_URING),
    /** One receive fills several buffers of the buffer ring. */
    BUNDLES(Channels.STREAM, Transport.IO_URING),
    /** Writes of 16 KiB and more are sent without a copy. */
    ZERO_COPY(Channels.STREAM, Transport.IO_URING),
    /** A submission ring of 4,096 entries. */
    LARGE_RING(Channels.ANY, Transport.IO_URING);

    /** The kind of channel that a setting affects. */
    public enum Channels {
        /** UDP. */
        DATAGRAM,
        /** TCP. */
        STREAM,
        /** Both. */
        ANY
    }

    /** The names in command line options. */
    public static final class Names extends OptionNames<Tuning> {
        private static final long serialVersionUID = 1L;

        /** Called by picocli. */
        public Names() {
            super(Tuning.values(), Tuning::toString);
        }
    }

    /** Sets an option of a bootstrap. */
    @FunctionalInterface
    private interface OptionSetter {
        <T> void set(ChannelOption<T> option, T value);
    }

    private static final int DATAGRAMS = 32;
    private static final int FEW_DATAGRAMS = 8;
    private static final int READS_BEFORE_FLUSH = 64;
    private static final int DATAGRAM_BYTES = 2048;
    private static final int BUSY_POLL_MICROS = 50;
    private static final short BUFFER_GROUP = 0;
    private static final short BUFFERS = 1024;
    private static final int BUFFER_BYTES = 2048;
    private static final short INCREMENTAL_BUFFERS = 64;
    private static final int INCREMENTAL_BUFFER_BYTES = 64 * 1024;
    private static final int ZERO_COPY_BYTES = 16 * 1024;
    private static final int LARGE_RING_ENTRIES = 4096;

    private final Channels channels;
    private final Set<Transport> transports;

    Tuning(Channels channels, Transport... transports) {
        this.channels = channels;
        this.transports = Set.of(transports);
    }

    /** Returns whether a transport has this setting. */
    public boolean isFor(Transport transport) {
        return transports.contains(transport);
    }

    /** Returns whether channels of this kind on a transport have this setting. */
    public boolean isFor(Transport transport, Channels kind) {
        return isFor(transport) && (channels == Channels.ANY || channels == kind);
    }

    /** Returns the transports that have this setting, as the command line names them. */
    String transports() {
        return transports.stream().sorted().map(Transport::toString).collect(Collectors.joining(" or "));
    }

    /** Returns the factory of epoll's I/O handlers. */
    static IoHandlerFactory epoll(Set<Tuning> tuning) {
        return tuning.contains(BUSY_WAIT)
                ? EpollIoHandler.newFactory(0, () -> (select, hasTasks) -> hasTasks ? select.get()
                        : SelectStrategy.BUSY_WAIT)
                : EpollIoHandler.newFactory();
    }

    /** Returns the factory of io_uring's I/O handlers. */
    static IoHandlerFactory ioUring(Set<Tuning> tuning) {
        IoUringIoHandlerConfig config = new IoUringIoHandlerConfig();
        if (tuning.contains(LARGE_RING)) {
            config.setRingSize(LARGE_RING_ENTRIES);
        }
        if (tuning.contains(BUFFER_RING)) {
            config.setBufferRingConfig(IoUringBufferRingConfig.builder().bufferGroupId(BUFFER_GROUP)
                    .bufferRingSize(BUFFERS).batchSize(BUFFERS / 2)
                    .allocator(new IoUringFixedBufferRingAllocator(BUFFER_BYTES)).build());
        } else if (tuning.contains(INCREMENTAL_BUFFER_RING)) {
            config.setBufferRingConfig(IoUringBufferRingConfig.builder().bufferGroupId(BUFFER_GROUP)
                    .bufferRingSize(INCREMENTAL_BUFFERS).batchSize(INCREMENTAL_BUFFERS / 2).incremental(true)
                    .allocator(new IoUringFixedBufferRingAllocator(INCREMENTAL_BUFFER_BYTES)).build());
        }
        return IoUringIoHandler.newFactory(config);
    }

    /**
     * Sets the system properties of the settings. Must be called before classes of the transport are used, because
     * Netty reads the properties once.
     */
    public static void setProperties(Set<Tuning> tuning) {
        if (tuning.contains(POOLED)) {
            System.setProperty("io.netty.allocator.type", "pooled");
        }
        if (tuning.contains(BUNDLES)) {
            System.setProperty("io.netty.iouring.recvsendBundleEnabled", "true");
        }
    }

    /** Sets the channel options on the connections of a TCP server. */
    public static void applyTo(ServerBootstrap bootstrap, Set<Tuning> tuning) {
        setStreamOptions(bootstrap::childOption, tuning);
    }

    /** Sets the channel options on the connections of a TCP client. */
    public static void applyTo(Bootstrap bootstrap, Set<Tuning> tuning) {
        setStreamOptions(bootstrap::option, tuning);
    }

    private static void setStreamOptions(OptionSetter connections, Set<Tuning> tuning) {
        if (tuning.contains(BUSY_POLL)) {
            connections.set(EpollChannelOption.SO_BUSY_POLL, BUSY_POLL_MICROS);
        }
        if (hasBufferRing(tuning)) {
            connections.set(IoUringChannelOption.IO_URING_BUFFER_GROUP_ID, BUFFER_GROUP);
        }
        if (tuning.contains(ZERO_COPY)) {
            connections.set(IoUringChannelOption.IO_URING_WRITE_ZERO_COPY_THRESHOLD, ZERO_COPY_BYTES);
        }
    }

    /** Sets the channel options on a UDP server. */
    static void applyTo(Bootstrap bootstrap, Transport transport, Set<Tuning> tuning) {
        if (tuning.contains(RECVMMSG) || tuning.contains(RECVMMSG_8)) {
            bootstrap.option(transport == Transport.EPOLL ? EpollChannelOption.MAX_DATAGRAM_PAYLOAD_SIZE
                    : IoUringChannelOption.MAX_DATAGRAM_PAYLOAD_SIZE, DATAGRAM_BYTES);
        }
        datagramAllocator(tuning).ifPresent(each -> bootstrap.option(ChannelOption.RECVBUF_ALLOCATOR, each));
        if (tuning.contains(BUSY_POLL)) {
            bootstrap.option(EpollChannelOption.SO_BUSY_POLL, BUSY_POLL_MICROS);
        }
    }

    /** Returns the allocator of receive buffers for the tuning, or empty to use the transport's default. */
    private static Optional<RecvByteBufAllocator> datagramAllocator(Set<Tuning> tuning) {
        if (tuning.contains(RECVMMSG)) {
            return Optional.of(new FixedRecvByteBufAllocator(DATAGRAMS * DATAGRAM_BYTES));
        }
        if (tuning.contains(RECVMMSG_8)) {
            return Optional.of(new FixedRecvByteBufAllocator(FEW_DATAGRAMS * DATAGRAM_BYTES)
                    .maxMessagesPerRead(READS_BEFORE_FLUSH));
        }
        return tuning.contains(READ_64) ? Optional.of(new FixedRecvByteBufAllocator(DATAGRAM_BYTES)
                .maxMessagesPerRead(READS_BEFORE_FLUSH)) : Optional.empty();
    }

    private static boolean hasBufferRing(Set<Tuning> tuning) {
        return tuning.contains(BUFFER_RING) || tuning.contains(INCREMENTAL_BUFFER_RING);
    }

    /** Returns the name on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
