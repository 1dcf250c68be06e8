package io.rdmaraw.testsuite.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;

import java.util.concurrent.TimeUnit;

/** A server in a separate JVM. It answers each message with a long response and closes the connection. */
final class EndingServer implements AutoCloseable {
    static final int ANSWER_BYTES = 300_000;
    /** Shuts the loops down in a shutdown hook, as described in docs/guide/deploying.md. */
    static final String WITH_HOOK = "with-hook";
    private static final String ANSWERED = "answered";
    private static final String SERVES = "serves ";

    private final PeerProcess process;

    private EndingServer(PeerProcess process) {
        this.process = process;
    }

    static EndingServer start(NetworkNamespace namespace, SoftDevice kind, String networkInterface, String address,
            String hook) {
        return new EndingServer(namespace.start(ServingProcess.command(kind, EndingServer.class,
                kind.on(networkInterface), address, hook).toArray(String[]::new)));
    }

    int port() {
        process.awaitOutput(SERVES, Await.PATIENCE);
        Await.until("a port", () -> process.output().contains("\n"));
        String output = process.output();
        int begin = output.indexOf(SERVES) + SERVES.length();
        return Integer.parseInt(output.substring(begin, output.indexOf('\n', begin)));
    }

    /** Waits until the response is written and the channel is closed. */
    void awaitAnswered() {
        process.awaitOutput(ANSWERED, Await.PATIENCE);
    }

    /** Ends the process by SIGTERM or by {@link System#exit}. */
    void end(boolean bySignal) {
        if (bySignal) {
            ProcessHandle.of(process.pid()).ifPresent(ProcessHandle::destroy);
        } else {
            process.send("exit\n");
        }
    }

    void awaitEnd() {
        process.await(Await.PATIENCE);
    }

    @Override
    public void close() {
        process.close();
    }

    @ChannelHandler.Sharable
    private static final class Answer extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ((ByteBuf) msg).release();
            ctx.writeAndFlush(ctx.alloc().buffer(ANSWER_BYTES).writeZero(ANSWER_BYTES))
                    .addListener(ChannelFutureListener.CLOSE);
            ctx.channel().closeFuture().addListener(closed -> System.out.println(ANSWERED));
        }
    }

    public static void main(String[] arguments) throws Exception {
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1,
                RdmaRawIoHandlerConfig.builder().device(arguments[0]).build());
        if (arguments[2].equals(WITH_HOOK)) {
            Runtime.getRuntime().addShutdownHook(new Thread(
                    () -> group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly()));
        }
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, TcpHost.address(arguments[1], 0),
                new Answer());
        System.out.println(SERVES + server.localAddress().getPort());
        if (System.in.read() >= 0) {
            System.exit(0);
        }
    }
}
