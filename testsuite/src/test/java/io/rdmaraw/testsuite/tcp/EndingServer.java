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

import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A server in a separate JVM. It answers a message with a long response and closes the connection. */
final class EndingServer implements AutoCloseable {
    static final int ANSWER_BYTES = 300_000;
    /** Shutdown hooks of the server, beside that of the transport. */
    enum Hooks {
        NONE,
        /** None, and the transport has no hook either. */
        NOT_EVEN_OURS,
        /** Shuts the loops down, as described in docs/guide/deploying.md. */
        SHUTTING_DOWN,
        /** Several hooks that return when the server has answered, as hooks of frameworks do. They close nothing. */
        SERVING
    }

    /** A message that blocks the loop for ever. */
    static final int BLOCK = 'b';
    private static final int SERVING_HOOKS = 8;
    private static final String BLOCKED = "blocked";
    private static final String SERVES_LAST = "serves the last requests";
    private static final String ANSWERED = "answered";
    private static final String SERVES = "serves ";

    private final PeerProcess process;

    private EndingServer(PeerProcess process) {
        this.process = process;
    }

    static EndingServer start(NetworkNamespace namespace, SoftDevice kind, String networkInterface, String address,
            Hooks hooks) {
        return new EndingServer(namespace.start(ServingProcess.command(kind, EndingServer.class,
                kind.on(networkInterface), address, hooks.name()).toArray(String[]::new)));
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

    /** Waits until the loop is blocked. */
    void awaitBlocked() {
        process.awaitOutput(BLOCKED, Await.PATIENCE);
    }

    /** Waits until the hooks of {@link Hooks#SERVING} run. */
    void awaitHooks() {
        process.awaitOutput(SERVES_LAST, Await.PATIENCE);
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
        final CountDownLatch answered = new CountDownLatch(1);

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) throws InterruptedException {
            int command = ((ByteBuf) msg).readByte();
            ((ByteBuf) msg).release();
            if (command == BLOCK) {
                System.out.println(BLOCKED);
                new CountDownLatch(1).await();
            }
            ctx.writeAndFlush(ctx.alloc().buffer(ANSWER_BYTES).writeZero(ANSWER_BYTES))
                    .addListener(ChannelFutureListener.CLOSE);
            ctx.channel().closeFuture().addListener(closed -> {
                System.out.println(ANSWERED);
                answered.countDown();
            });
        }
    }

    private static void addHooks(Hooks hooks, RdmaRawEventLoopGroup group, CountDownLatch answered) {
        if (hooks == Hooks.SHUTTING_DOWN) {
            addHook(() -> group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly());
        }
        for (int i = 0; hooks == Hooks.SERVING && i < SERVING_HOOKS; i++) {
            addHook(() -> {
                awaitOurHook();
                System.out.println(SERVES_LAST);
                try {
                    answered.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }
    }

    /** Waits until the hook of the transport waits for others, or has ended because it does not. */
    private static void awaitOurHook() {
        Optional<Thread> ours = Optional.empty();
        while (ours.isEmpty()) {
            ours = Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().equals("rdma-raw-exit")).findFirst();
        }
        Thread hook = ours.get();
        while (hook.isAlive() && Arrays.stream(hook.getStackTrace()).noneMatch(frame -> frame.getClassName()
                .equals("java.lang.Thread") && Set.of("sleep", "join").contains(frame.getMethodName()))) {
            Thread.onSpinWait();
        }
    }

    private static void addHook(Runnable task) {
        Runtime.getRuntime().addShutdownHook(new Thread(task));
    }

    public static void main(String[] arguments) throws Exception {
        Hooks hooks = Hooks.valueOf(arguments[2]);
        if (hooks == Hooks.NOT_EVEN_OURS) {
            System.setProperty("io.rdmaraw.exitTimeoutMillis", "0");
        }
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1,
                RdmaRawIoHandlerConfig.builder().device(arguments[0]).build());
        Answer answer = new Answer();
        addHooks(hooks, group, answer.answered);
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, TcpHost.address(arguments[1], 0), answer);
        System.out.println(SERVES + server.localAddress().getPort());
        if (System.in.read() >= 0) {
            System.exit(0);
        }
    }
}
