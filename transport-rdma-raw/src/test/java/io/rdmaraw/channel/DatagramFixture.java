package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.CharsetUtil;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.host.BoundPort;
import io.rdmaraw.host.loopback.LoopbackHost;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.QueueCounters;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.flow.FlowType;
import io.rdmaraw.wire.IpProtocol;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A loop device for one test, with datagram channels on it. */
final class DatagramFixture implements AutoCloseable {
    final LoopDevice device = new LoopDevice();
    final IoEventLoopGroup group;
    private final List<Inbox> inboxes = new ArrayList<>();

    DatagramFixture(int loops) {
        group = new RdmaRawEventLoopGroup(loops, RdmaRawIoHandlerConfig.builder().device(device.name)
                .receiveQueueDepth(256).sendQueueDepth(256).slotCount(1024).build());
    }

    /** Collects the datagrams and exceptions of a channel. */
    static final class Inbox extends ChannelInboundHandlerAdapter {
        final BlockingQueue<DatagramPacket> packets = new LinkedBlockingQueue<>();
        final BlockingQueue<Throwable> errors = new LinkedBlockingQueue<>();
        RdmaRawDatagramChannel channel;

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            packets.add((DatagramPacket) msg);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            errors.add(cause);
        }

        DatagramPacket take() throws InterruptedException {
            return FrameQueueHandler.take(packets, "datagram");
        }

        String takeText() throws InterruptedException {
            DatagramPacket packet = take();
            String text = packet.content().toString(CharsetUtil.US_ASCII);
            packet.release();
            return text;
        }

        InetSocketAddress address() {
            return channel.localAddress();
        }

        void send(String text, InetSocketAddress to) throws InterruptedException {
            channel.writeAndFlush(new DatagramPacket(text(text), to)).sync();
        }
    }

    static ByteBuf text(String text) {
        return Unpooled.copiedBuffer(text, CharsetUtil.US_ASCII);
    }

    static InetSocketAddress at(String address, int port) {
        return new InetSocketAddress(address, port);
    }

    Inbox bind(SocketAddress local) throws InterruptedException {
        return bind(local, bootstrap -> { });
    }

    Inbox bind(SocketAddress local, Consumer<Bootstrap> settings) throws InterruptedException {
        Inbox inbox = new Inbox();
        Bootstrap bootstrap = new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class).handler(inbox);
        settings.accept(bootstrap);
        inbox.channel = (RdmaRawDatagramChannel) bootstrap.bind(local).sync().channel();
        inboxes.add(inbox);
        return inbox;
    }

    /** Binds a channel that receives a copy of every frame on the device. */
    FrameQueueHandler sniff() {
        FrameQueueHandler sniffer = new FrameQueueHandler();
        device.bind(group, RdmaRawAddress.of(device.name, FlowSpec.builder().type(FlowType.SNIFFER).build()), sniffer);
        return sniffer;
    }

    /** Binds a channel that sends raw frames. */
    RdmaRawChannel raw() {
        return device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
    }

    /** Returns the MAC address of the channel that owns a port and may receive from the peer. */
    long macOf(InetSocketAddress address, InetSocketAddress peer) {
        BoundPort bound = LoopbackHost.of(device.name).ports().find(IpProtocol.UDP, IpAddress.of(peer.getAddress()),
                peer.getPort(), IpAddress.of(address.getAddress()), address.getPort());
        return bound.id();
    }

    /**
     * Waits until the channel's loop has polled its queue completely, so that frames present at the call have been
     * received.
     */
    static void awaitRounds(Inbox inbox) throws InterruptedException {
        QueueCounters counters = inbox.channel.eventLoop().submit(() ->
                inbox.channel.deviceQueue().frameQueue().counters()).sync()
                .getNow();
        long endPolls = counters.receivePolls + 2;
        while (counters.receivePolls < endPolls) {
            // Tasks keep the loop from sleeping. It may run several of them between two polls.
            inbox.channel.eventLoop().submit(() -> { }).sync();
        }
        inbox.channel.eventLoop().submit(() -> { }).sync();
    }

    static <T> Consumer<Bootstrap> option(ChannelOption<T> option, T value) {
        return bootstrap -> bootstrap.option(option, value);
    }

    @Override
    public void close() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        inboxes.forEach(inbox -> inbox.packets.forEach(ReferenceCountUtil::release));
    }
}
