package program;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.local.LocalIoHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * A program without knowledge of the agent that names Netty's transports in every possible way. It prints one line per
 * result.
 */
@SuppressWarnings("deprecation") // most programs create groups in this way
public final class Callers {
    private static final int PATIENCE_SECONDS = 30;

    /** A field declared with a type of a transport. */
    private final NioEventLoopGroup acceptors = new NioEventLoopGroup(1);
    private final EventLoopGroup workers = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());

    /** A type parameter that is a transport's class, which leads to a bridge method. */
    private interface Maker<C extends Channel> {
        C make();
    }

    private static final class NioMaker implements Maker<NioSocketChannel> {
        @Override
        public NioSocketChannel make() {
            return new NioSocketChannel();
        }
    }

    /** Depends on NIO, so the agent must not change it. */
    private static final class OwnChannel extends NioSocketChannel {
        boolean hasSocket() {
            return javaChannel().isOpen();
        }
    }

    @ChannelHandler.Sharable
    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            if (msg instanceof DatagramPacket packet) {
                ctx.writeAndFlush(new DatagramPacket(packet.content(), packet.sender()));
            } else {
                ctx.writeAndFlush(msg);
            }
        }
    }

    private static final class Answer extends SimpleChannelInboundHandler<Object> {
        private final CompletableFuture<String> text = new CompletableFuture<>();

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, Object msg) {
            ByteBuf content = msg instanceof DatagramPacket packet ? packet.content() : (ByteBuf) msg;
            text.complete(content.toString(StandardCharsets.UTF_8));
        }

        String await() throws Exception {
            return text.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
    }

    public static void main(String[] args) throws Exception {
        Callers callers = new Callers();
        try {
            callers.run();
        } finally {
            callers.acceptors.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
            callers.workers.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
        }
        System.out.println("done");
    }

    private static void print(String what, Object value) {
        System.out.println(what + ": " + (value instanceof Channel || value instanceof EventLoopGroup
                ? value.getClass().getSimpleName() : value));
    }

    private void run() throws Exception {
        groups();
        channels();
        overTcp();
        overUdp();
    }

    private void groups() throws InterruptedException {
        acceptors.setIoRatio(70);
        EventLoopGroup any = acceptors;
        print("deprecated group", any);
        print("group", workers);
        print("is a NIO group", any instanceof NioEventLoopGroup);
        print("is an epoll group", any instanceof EpollEventLoopGroup);
        Supplier<IoHandlerFactory> factories = NioIoHandler::newFactory;
        EventLoopGroup byReference = new MultiThreadIoEventLoopGroup(1, factories.get());
        print("group by a reference", byReference);
        EventLoopGroup local = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
        print("local group", local);
        byReference.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
        local.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
    }

    private static void show(String what, Channel channel) {
        print(what, channel);
        channel.unsafe().closeForcibly();
    }

    private void channels() throws IOException {
        Maker<NioSocketChannel> maker = new NioMaker();
        NioSocketChannel made = maker.make();
        print("is a NIO channel", (Object) made instanceof NioSocketChannel);
        show("made", made);
        ChannelFactory<NioSocketChannel> reference = NioSocketChannel::new;
        show("by a reference", reference.newChannel());
        ChannelFactory<EpollSocketChannel> epoll = EpollSocketChannel::new;
        print("epoll's class", EpollSocketChannel.class.getSimpleName());
        print("epoll's factory", epoll != null);
        show("of a family", new NioDatagramChannel(SocketProtocolFamily.INET));
        show("chosen", System.nanoTime() == 0 ? null : new NioServerSocketChannel());
        java.nio.channels.SocketChannel socket = java.nio.channels.SocketChannel.open();
        show("of a socket", new NioSocketChannel(null, socket));
        print("its socket is closed with it", !socket.isOpen());
        OwnChannel own = new OwnChannel();
        print("own channel's socket", own.hasSocket());
        show("own channel", own);
    }

    private void overTcp() throws Exception {
        Channel server = new ServerBootstrap().group(acceptors, workers).channel(NioServerSocketChannel.class)
                .childHandler(new Echo()).bind("127.0.0.1", 0).sync().channel();
        InetSocketAddress address = (InetSocketAddress) server.localAddress();
        Answer answer = new Answer();
        Channel client = new Bootstrap().group(workers).channel(NioSocketChannel.class).handler(answer)
                .connect(address).sync().channel();
        client.writeAndFlush(Unpooled.copiedBuffer("by TCP", StandardCharsets.UTF_8));
        print("server", server);
        print("client", client);
        print("answer", answer.await());
        client.close().sync();
        print("the kernel's client", kernelClient(address));
        server.close().sync();
    }

    private static String kernelClient(InetSocketAddress address) {
        try (Socket socket = new Socket(address.getAddress(), address.getPort())) {
            socket.setSoTimeout((int) TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
            socket.getOutputStream().write("hello".getBytes(StandardCharsets.UTF_8));
            return new String(socket.getInputStream().readNBytes(5), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return e.getMessage();
        }
    }

    private void overUdp() throws Exception {
        Bootstrap bootstrap = new Bootstrap().group(workers).channel(NioDatagramChannel.class);
        Channel server = bootstrap.clone().handler(new Echo()).bind("127.0.0.1", 0).sync().channel();
        Answer answer = new Answer();
        Channel client = bootstrap.handler(answer).bind("127.0.0.1", 0).sync().channel();
        client.writeAndFlush(new DatagramPacket(Unpooled.copiedBuffer("by UDP", StandardCharsets.UTF_8),
                (InetSocketAddress) server.localAddress()));
        print("datagrams", client);
        print("datagram", answer.await());
        client.close().sync();
        server.close().sync();
    }
}
