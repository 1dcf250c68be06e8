package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.netty.util.internal.logging.JdkLoggerFactory;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawTakeover;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * An echo server in a separate JVM. It takes over its port from a predecessor, hands it over to a successor and
 * ends when its connections have ended.
 */
final class RestartedServer implements AutoCloseable {
    /** Printed when it serves. No message of a takeover contains this text. */
    static final String SERVES = "ready to serve";
    /** Printed when a successor serves. */
    static final String HANDED_OVER = "handed over";
    /** Printed when the successor has ended and this process serves again. */
    static final String RESUMED = "resumed";
    /** Printed when all of its connections have ended. */
    static final String DRAINED = "drained";
    private static final String STOP = "STOP:";
    private static final int LOOPS = 2;
    private static final Duration LOOK_INTERVAL = Duration.ofMillis(20);

    private final PeerProcess process;

    private RestartedServer(PeerProcess process) {
        this.process = process;
    }

    /**
     * Starts a server process.
     *
     * @param killedAt log message of its takeover at which the process kills itself; empty for never. With the
     *     prefix {@value #STOP}, the process stops itself (SIGSTOP) instead.
     * @param boss whether a loop of another group accepts the connections
     */
    static RestartedServer start(NetworkNamespace namespace, SoftDevice kind, String networkInterface, String address,
            int port, Path socket, String killedAt, boolean boss) {
        List<String> command = new ArrayList<>(ServingProcess.command(kind, RestartedServer.class,
                kind.on(networkInterface), address, Integer.toString(port), socket.toString(), killedAt,
                boss ? "boss" : ""));
        return new RestartedServer(namespace.start(command.toArray(String[]::new)));
    }

    RestartedServer await(String text) {
        process.awaitOutput(text, Await.PATIENCE);
        return this;
    }

    String output() {
        return process.output();
    }

    /** Waits for the end of the process and returns its exit code. */
    int awaitEnd() {
        return process.await(Await.PATIENCE).exitCode();
    }

    /** Returns one of the server's TCP counters. */
    long counter(String name) {
        return ServingProcess.ask(process, name);
    }

    /** Sends a signal to the process. */
    void signal(String name) {
        sendSignal(name, process.pid());
    }

    private static void sendSignal(String name, long pid) {
        try {
            new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start().waitFor();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Ends the process as kill -9 does. */
    void kill() {
        ProcessHandle.of(process.pid()).ifPresent(ProcessHandle::destroyForcibly);
        process.await(Await.PATIENCE);
    }

    @Override
    public void close() {
        process.close();
    }

    private static void killAt(String signalled) {
        boolean stops = signalled.startsWith(STOP);
        String text = stops ? signalled.substring(STOP.length()) : signalled;
        InternalLoggerFactory.setDefaultFactory(JdkLoggerFactory.INSTANCE);
        Logger logger = Logger.getLogger(RdmaRawTakeover.class.getName());
        logger.setLevel(Level.ALL);
        logger.addHandler(new Handler() {
            @Override
            public void publish(LogRecord entry) {
                System.out.println(entry.getMessage());
                if (!text.isEmpty() && entry.getMessage().contains(text)) {
                    sendSignal(stops ? "STOP" : "KILL", ProcessHandle.current().pid());
                }
            }

            @Override
            public void flush() {
                // Messages are printed immediately.
            }

            @Override
            public void close() {
                // There is nothing to close.
            }
        });
        // A strong reference: otherwise the logger could be garbage-collected together with its handler.
        LOGGERS.add(logger);
    }

    private static final List<Logger> LOGGERS = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        String device = arguments[0];
        killAt(arguments[4]);
        AtomicBoolean handedOver = new AtomicBoolean();
        RdmaRawTakeover takeover;
        RdmaRawEventLoopGroup group;
        RdmaRawEventLoopGroup boss;
        try {
            takeover = RdmaRawTakeover.open(Path.of(arguments[3]));
            RdmaRawIoHandlerConfig config =
                    RdmaRawIoHandlerConfig.builder().device(device).takeover(takeover).build();
            group = new RdmaRawEventLoopGroup(LOOPS, config);
            boss = arguments[5].isEmpty() ? group : new RdmaRawEventLoopGroup(1, config);
            // Without ACCEPT_GROUP, so that the port moves from the boss loop to the others.
            new ServerBootstrap().group(boss, group).channel(RdmaRawServerSocketChannel.class)
                    .childHandler(new TcpHost.Echo())
                    .bind(TcpHost.address(arguments[1], Integer.parseInt(arguments[2]))).sync();
            takeover.begin(new RdmaRawTakeover.Listener() {
                @Override
                public void handedOver(long successorPid) {
                    System.out.println(HANDED_OVER);
                    handedOver.set(true);
                }

                @Override
                public void resumed() {
                    handedOver.set(false);
                    System.out.println(RESUMED);
                }
            });
        } catch (Exception e) {
            // Netty throws undeclared checked exceptions.
            System.out.println("refused: " + e.getMessage());
            System.exit(1);
            return;
        }
        System.out.println(SERVES);
        Thread.ofPlatform().daemon().start(() -> answer(device));
        // The drained state counts only if a successor serves both before and after the check.
        while (!(handedOver.get() && takeover.awaitDrained(LOOK_INTERVAL) && handedOver.get())) {
            LockSupport.parkNanos(LOOK_INTERVAL.toNanos());
        }
        System.out.println(DRAINED);
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        boss.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        takeover.close();
        System.exit(0);
    }

    private static void answer(String device) {
        try {
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
            for (String name = input.readLine(); name != null; name = input.readLine()) {
                System.out.println(name + " is " + TcpHost.tcp(device, name));
            }
        } catch (IOException e) {
            System.out.println("no more questions: " + e.getMessage());
        }
    }
}
