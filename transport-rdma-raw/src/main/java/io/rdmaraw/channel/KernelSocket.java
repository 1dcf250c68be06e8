package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.rdmaraw.route.PortSharing;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;

/**
 * The kernel's side of a channel's port: an ordinary socket on the same loop. It keeps the port from other programs,
 * and carries what does not come or go by the device. All methods but {@link #close()} are for the loop's thread.
 */
final class KernelSocket {
    private static final int MAX_DATAGRAM_BYTES = 65535;

    /** Who gets what the kernel has. */
    interface Receiver {
        /** Takes a datagram and its reference. */
        void receiveFromKernel(ByteBuf content, InetSocketAddress sender);

        /** The datagrams at hand have been received. */
        void kernelReadComplete();

        /** The kernel has heard of an error, for example that the peer has no such port. */
        void kernelError(Throwable cause);
    }

    private final Receiver receiver;
    private final boolean ipv4Only;
    private EventLoop loop;
    private volatile NioDatagramChannel socket;
    private DatagramChannel jdkSocket;

    KernelSocket(Receiver receiver, boolean ipv4Only) {
        this.receiver = receiver;
        this.ipv4Only = ipv4Only;
    }

    /** The owner is on this loop now, or on none; the socket goes along. */
    void moveTo(EventLoop newLoopOrNull) {
        loop = newLoopOrNull;
        Channel open = socket;
        if (open == null || !open.isOpen()) {
            return;
        }
        if (newLoopOrNull == null) {
            open.deregister();
        } else {
            newLoopOrNull.register(open);
        }
    }

    /** Opens the socket; returns the port. */
    int bind(InetSocketAddress local, PortSharing sharing) throws IOException {
        DatagramChannel jdkOpened = ipv4Only ? DatagramChannel.open(StandardProtocolFamily.INET)
                : DatagramChannel.open();
        NioDatagramChannel opened = new NioDatagramChannel(jdkOpened);
        opened.pipeline().addLast(new Inbound());
        opened.config().setOption(ChannelOption.RECVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(MAX_DATAGRAM_BYTES));
        opened.config().setOption(ChannelOption.SO_REUSEADDR, sharing.reuseAddress());
        if (sharing.reusePort()) {
            opened.config().setOption(NioChannelOption.of(StandardSocketOptions.SO_REUSEPORT), true);
        }
        try {
            await(loop.register(opened));
            await(opened.bind(local));
        } catch (IOException e) {
            opened.close();
            throw e;
        }
        socket = opened;
        jdkSocket = jdkOpened;
        return opened.localAddress().getPort();
    }

    /** What is done on the loop itself is done when the call returns. */
    private static void await(ChannelFuture future) throws IOException {
        if (!future.isDone()) {
            throw new IOException("the kernel's socket did not answer at once");
        }
        if (future.cause() instanceof IOException e) {
            throw e;
        }
        if (future.cause() != null) {
            throw new IOException("the kernel's socket failed: " + future.cause().getMessage(), future.cause());
        }
    }

    /** Connects; returns the local address that the kernel has chosen. */
    InetSocketAddress connect(InetSocketAddress remote) throws IOException {
        if (socket.isConnected()) {
            await(socket.disconnect());
        }
        await(socket.connect(remote));
        return (InetSocketAddress) jdkSocket.getLocalAddress();
    }

    void disconnect() {
        if (socket != null && socket.isConnected()) {
            socket.disconnect();
        }
    }

    /** Sends a datagram; returns why it could not, or null. The content's reference passes to the socket. */
    Throwable send(ByteBuf content, InetSocketAddress destination) {
        if (!content.isReadable()) {
            content.release();
            return sendEmpty(destination);
        }
        ChannelFuture sent = socket.writeAndFlush(
                socket.isConnected() ? content : new DatagramPacket(content, destination));
        return sent.cause();
    }

    /** Netty's NIO channel takes an empty datagram and does not send it. */
    private Throwable sendEmpty(InetSocketAddress destination) {
        try {
            jdkSocket.send(ByteBuffer.allocate(0), destination);
            return null;
        } catch (IOException e) {
            return e;
        }
    }

    void close() {
        NioDatagramChannel open = socket;
        if (open != null) {
            open.close();
        }
    }

    private final class Inbound extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            DatagramPacket packet = (DatagramPacket) msg;
            // The socket's buffer has room for the largest datagram; most are small.
            ByteBuf content = ctx.alloc().buffer(packet.content().readableBytes()).writeBytes(packet.content());
            InetSocketAddress sender = packet.sender();
            packet.release();
            receiver.receiveFromKernel(content, sender);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            receiver.kernelReadComplete();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            receiver.kernelError(cause);
        }
    }
}
