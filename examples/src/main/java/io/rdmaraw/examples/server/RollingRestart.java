package io.rdmaraw.examples.server;

import io.netty.channel.Channel;
import io.rdmaraw.channel.RdmaRawTakeover;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** The options and the behaviour of servers that hand over their ports to the next process. */
public final class RollingRestart implements RdmaRawTakeover.Listener {
    private static final Duration LOOK_INTERVAL = Duration.ofMillis(50);

    @Option(names = "--takeover", paramLabel = "PATH",
            description = "takes over the ports of the process that serves at this Unix socket, if there is one, "
                    + "without a refused or reset connection, and hands them over to the next one that is started in "
                    + "this way; wants soft:packet, or soft:xdp in mode tap")
    private Path path;

    @Option(names = "--drain-seconds", paramLabel = "N", defaultValue = "30",
            description = "how long connections may go on when the next process has taken over; default "
                    + "${DEFAULT-VALUE}")
    private int drainSeconds;

    private RdmaRawTakeover takeover;
    private volatile boolean draining;

    /** Returns whether the user has enabled the handover. */
    boolean isWanted() {
        return path != null;
    }

    /** Connects to the previous process, if there is one. */
    RdmaRawTakeover open() throws IOException {
        takeover = RdmaRawTakeover.open(path);
        return takeover;
    }

    /** Starts to serve. Called after the server's channels have been opened. */
    void begin() throws IOException {
        takeover.begin(this);
    }

    /** Returns whether the next process is serving, so that clients should close their connections to this one. */
    public boolean isDraining() {
        return draining;
    }

    @Override
    public void handedOver(long successorPid) {
        draining = true;
    }

    @Override
    public void resumed() {
        draining = false;
    }

    /**
     * Waits until the ports have been handed over and the connections have ended. Returns false if the server channel
     * is closed.
     */
    boolean awaitDrained(Channel server) throws InterruptedException {
        long deadline = 0;
        while (!server.closeFuture().await(LOOK_INTERVAL.toMillis())) {
            if (!draining) {
                deadline = 0;
                continue;
            }
            deadline = deadline != 0 ? deadline : System.nanoTime() + TimeUnit.SECONDS.toNanos(drainSeconds);
            boolean over = takeover.awaitDrained(LOOK_INTERVAL) || deadline - System.nanoTime() <= 0;
            // If the next process has ended in the meantime, this one serves again.
            if (over && draining) {
                return true;
            }
        }
        return false;
    }

    /** Releases the handover. Called after the event loops have ended. */
    void close() {
        if (takeover != null) {
            takeover.close();
        }
    }
}
