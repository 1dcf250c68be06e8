package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.QueueFixture;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.UdpHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;

/**
 * Frames arrive from thousands of addresses without a host. The replies wait for MAC addresses that never resolve, and
 * the loop must serve other peers as usual.
 */
@Timeout(120)
class UnresolvedPeersTest {
    private static final int SLOTS = 1024;
    private static final int STRANGERS = 5000;
    private static final int BURST = 64;
    private static final int MAX_UNRESOLVED = 50;
    private static final long SERVER_MAC = 0x02_00_00_0c_00_01L;
    private static final int SERVER = 0x0a0c_0001;
    private static final int FIRST_STRANGER = 0x0a0c_1000;
    private static final int CONTENT_BYTES = 1000;
    private static final int UDP_PORT = 4433;

    /** Frames with unresolvable sources. */
    enum Flood {
        /** Answered by half-open connections, or by SYN cookies if there are too many. */
        SYNS {
            @Override
            int write(long frame, int source, int port) {
                return segment(frame, source, port, TcpFlags.SYN);
            }
        },
        /** Answered by resets. */
        ACKS {
            @Override
            int write(long frame, int source, int port) {
                return segment(frame, source, port, TcpFlags.ACK);
            }
        },
        /** Echoed by the application in the slots that received them. */
        DATAGRAMS {
            @Override
            int write(long frame, int source, int port) {
                int udpBytes = UdpHeader.LENGTH_BYTES + 18;
                long ip = frame + EthernetHeader.LENGTH_BYTES;
                Ipv4Header.write(ip, 0, Ipv4Header.MIN_LENGTH_BYTES + udpBytes, 0, Ipv4Header.DONT_FRAGMENT, 64,
                        IpProtocol.UDP, source, SERVER);
                UdpHeader.write(ip + Ipv4Header.MIN_LENGTH_BYTES, 1000, UDP_PORT, udpBytes);
                return Ipv4Header.MIN_LENGTH_BYTES + udpBytes;
            }
        };

        /** Writes a packet and returns its length without the Ethernet header. */
        abstract int write(long frame, int source, int port);

        private static int segment(long frame, int source, int port, int flags) {
            Segment segment = new Segment().clear().source(0, mapped(source), 1000)
                    .destination(0, mapped(SERVER), port).seq(source).ack(1).flags(flags).window(1000);
            return TcpHeaderCodec.write(segment, frame + EthernetHeader.LENGTH_BYTES, InternetChecksum.sum(frame, 0));
        }
    }

    private static long mapped(int ipv4) {
        return 0xFFFF_0000_0000L | ipv4 & 0xFFFF_FFFFL;
    }

    private final LoopDevice device = LoopDevice.inMemory();
    private final EventLoopGroup servers = group("02:00:00:0c:00:01", "10.12.0.1/16");
    private final EventLoopGroup clients = group("02:00:00:0c:00:02", "10.12.0.2/16");
    private final RdmaRawEventLoopGroup attackers = new RdmaRawEventLoopGroup(1);
    private final BlockingQueue<Channel> accepted = new LinkedBlockingQueue<>();
    private final BlockingQueue<Integer> answers = new LinkedBlockingQueue<>();
    private RdmaRawDatagramChannel datagrams;

    private EventLoopGroup group(String mac, String address) {
        return new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder().device(device.name)
                .detectDuplicateAddresses(false).receiveQueueDepth(256).sendQueueDepth(256).slotCount(SLOTS)
                .maxUnresolvedPackets(MAX_UNRESOLVED).userspaceAddress(mac, address, null).build());
    }

    @AfterEach
    void shutDown() {
        for (EventLoopGroup group : new EventLoopGroup[] {attackers, clients, servers}) {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private final class Client extends SimpleChannelInboundHandler<ByteBuf> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf content) {
            answers.add(content.readableBytes());
        }
    }

    /** Reports its channel and echoes data. */
    private final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public boolean isSharable() {
            return true;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            accepted.add(ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.writeAndFlush(msg);
        }
    }

    private static final class DatagramEcho extends SimpleChannelInboundHandler<DatagramPacket> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket received) {
            ctx.writeAndFlush(new DatagramPacket(received.content().retain(), received.sender()));
        }
    }

    private Channel listen() throws InterruptedException {
        datagrams = (RdmaRawDatagramChannel) new Bootstrap().group(servers).channel(RdmaRawDatagramChannel.class)
                .handler(new DatagramEcho()).bind("10.12.0.1", UDP_PORT).sync().channel();
        return new ServerBootstrap().group(servers).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new Echo()).bind("10.12.0.1", 0).sync().channel();
    }

    private void exchange(Channel client) throws InterruptedException {
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[CONTENT_BYTES])).sync();
        for (int left = CONTENT_BYTES; left > 0;) {
            Integer next = answers.poll(30, TimeUnit.SECONDS);
            assertNotNull(next, "the good peer gets no answer any more");
            left -= next;
        }
    }

    @ParameterizedTest
    @EnumSource(Flood.class)
    void unresolvedPeersDoNotStopLoopOrHoldSlots(Flood flood) throws InterruptedException {
        int port = ((InetSocketAddress) listen().localAddress()).getPort();
        Channel client = new Bootstrap().group(clients).channel(RdmaRawSocketChannel.class).handler(new Client())
                .connect("10.12.0.1", port).sync().channel();
        exchange(client);
        RdmaRawSocketChannel served = (RdmaRawSocketChannel) accepted.take();
        int heldBefore = slotsHeld(served);

        RdmaRawChannel wire = device.bind(attackers, device.sendOnly(), new ChannelInboundHandlerAdapter());
        int most = 0;
        for (int sent = 0; sent < STRANGERS; sent += BURST) {
            for (int i = sent; i < sent + BURST - 1; i++) {
                wire.write(frame(wire, flood, FIRST_STRANGER + i, port));
            }
            // Each burst is awaited: several bursts would overflow the receive queue if the loop was waiting for a
            // processor.
            wire.writeAndFlush(frame(wire, flood, FIRST_STRANGER + sent + BURST - 1, port)).sync();
            exchange(client);
            most = Math.max(most, slotsHeld(served));
        }
        int held = most;
        assertTrue(held <= heldBefore + BURST, () -> heldBefore + " slots were in use before, then " + held);
        if (flood != Flood.ACKS) {
            awaitAtLeast(1, () -> crowded(served), "made room");
        }
        // Not each SYN is answered separately.
        awaitAtLeast(STRANGERS / 2, () -> counted(served, flood), "are counted");
    }

    /** The loop may still process the last burst when the resolved peer has its reply. */
    private static void awaitAtLeast(long expected, LongSupplier count, String what) {
        long deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (count.getAsLong() < expected) {
            assertTrue(System.nanoTime() < deadlineNanos, () -> "only " + count.getAsLong() + " " + what);
            Thread.onSpinWait();
        }
    }

    private ByteBuf frame(Channel wire, Flood flood, int source, int port) {
        ByteBuf frame = wire.alloc().directBuffer(128).writeZero(128);
        long address = frame.memoryAddress();
        EthernetHeader.write(address, SERVER_MAC, 0x02_00_00_0c_00_66L, EtherType.IPV4);
        return frame.writerIndex(Math.max(60, EthernetHeader.LENGTH_BYTES + flood.write(address, source, port)));
    }

    private static int onLoop(RdmaRawSocketChannel served, ToIntFunction<DeviceQueue> look) {
        return served.eventLoop().submit(() -> look.applyAsInt(served.tcpStack().deviceQueue())).syncUninterruptibly()
                .getNow();
    }

    private static int slotsHeld(RdmaRawSocketChannel served) {
        return onLoop(served, port -> {
            FrameQueue queue = port.frameQueue();
            // A late loop solicits the neighbours of many bursts at once. The device has sent these frames.
            queue.reclaim();
            SlotPool slots = queue.slots();
            return slots.bufferCount() - slots.available() - QueueFixture.postedReceives(queue);
        });
    }

    private static long value(RdmaRawMetered counting, String name) {
        return counting.value(counting.metrics().stream().filter(metric -> metric.name().equals(name)).findFirst()
                .orElseThrow());
    }

    private static long crowded(RdmaRawSocketChannel served) {
        RdmaRawQueueStatistics queue = served.tcpStack().deviceQueue().statistics();
        return RdmaRawMetrics.loops().stream().filter(loop -> loop.queues().contains(queue))
                .mapToLong(loop -> value(loop, "neighbor-queue-full")).sum();
    }

    /** Returns how many answers were dropped, or sent to where the question came from because they do not wait. */
    private long counted(RdmaRawSocketChannel served, Flood flood) {
        RdmaRawMetered tcp = served.tcpStack().statistics();
        return switch (flood) {
            case SYNS -> value(tcp, "unresolved") + value(tcp, "syn-cookies.sent");
            case ACKS -> value(tcp, "resets.sent");
            case DATAGRAMS -> value(datagrams.statistics(), "unresolved");
        };
    }
}
