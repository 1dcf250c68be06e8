package io.rdmaraw.channel;

import io.netty.util.internal.ObjectUtil;
import io.netty.util.internal.UnstableApi;
import io.rdmaraw.takeover.Takeover;
import io.rdmaraw.takeover.TakeoverListener;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Hands over listening TCP ports from one process to the next, for rolling restarts. A takeover without failures
 * refuses and resets no connection. Exception: processes in different time namespaces do not share SYN cookies, so
 * clients that have received a cookie of the old process must connect again. Existing connections stay with the old
 * process until they end. Thread-safe.
 *
 * <p>The processes find each other by a Unix socket that only their user may connect to:
 *
 * <pre>{@code
 * RdmaRawTakeover takeover = RdmaRawTakeover.open(Path.of("/run/www/takeover.sock"));
 * RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().device("soft:packet:eth1")
 *         .takeover(takeover).build();
 * // ... bind the servers on loops with this configuration ...
 * takeover.begin(listener);
 * }</pre>
 *
 * <p>After {@link #begin}, the new process accepts the new connections of these ports, and the old process receives
 * {@link Listener#handedOver}. The old process lets its connections end, waits with {@link #awaitDrained}, and exits.
 * If one of the processes is killed before the old one has exited, the other one serves the ports. Connections of the
 * killed process are reset.
 *
 * <p>Works on devices that two processes can use at the same time: {@code soft:packet:}, and {@code soft:xdp:} in mode
 * {@code tap}. A TCP server on another device, on an address of a userspace host, or with
 * {@link RdmaRawChannelOption#SO_REUSEPORT} cannot be bound on these loops. UDP ports are not handed over.
 */
@UnstableApi
public final class RdmaRawTakeover implements AutoCloseable {
    /**
     * Receives events about the successor process. Called on a thread of the takeover; implementations must not block.
     */
    public interface Listener {
        /**
         * Called when another process has started to accept new connections. Connections of this process continue. This
         * process should ask its clients to close them, if the protocol can do that. It keeps its server channels open,
         * waits until it is drained, and exits.
         *
         * @param successorPid process id of the successor
         */
        void handedOver(long successorPid);

        /** Called when the successor has ended. This process accepts new connections again. */
        void resumed();
    }

    private final Takeover takeover;

    private RdmaRawTakeover(Takeover takeover) {
        this.takeover = takeover;
    }

    /**
     * Connects to the process that serves at present. If there is none, this process is the first.
     *
     * @param path path of a Unix socket, in a directory that only the user of the processes may write to
     * @throws IOException if a process serves but does not hand over its ports: it belongs to another user, does not
     *         answer, has no ports, speaks another takeover protocol, hands its ports over to another process, or has
     *         itself a predecessor that still runs. Also if the path exists and is not a socket
     */
    public static RdmaRawTakeover open(Path path) throws IOException {
        return new RdmaRawTakeover(Takeover.open(ObjectUtil.checkNotNull(path, "path")));
    }

    /**
     * Returns whether there is a previous process that still runs. If that process ends, this method returns true until
     * {@link #begin} is called; after {@code begin} it returns false with a short delay. Returns false if {@code begin}
     * has failed, and after {@link #close}. Waits while {@code begin} runs.
     */
    public boolean hasPredecessor() {
        return takeover.hasPredecessor();
    }

    /**
     * Starts to serve. Takes over the ports that both this and the previous process have bound, with the same device,
     * address and number. Wait for {@code bind} before the call: a port that is bound later is not taken over. The
     * previous process keeps its other ports. Then offers the ports of this process to the next process. Returns when
     * this process accepts new connections. Blocks; must not be called on an event loop.
     *
     * @param listener receives events about the next process
     * @throws IOException if the previous process continues to serve, for example because no port is common to both; or
     *         if there is no previous process and the socket cannot be created. This process should then exit. After a
     *         takeover a missing socket is no error: creating it is retried
     * @throws IllegalStateException if this method was called before
     */
    public void begin(Listener listener) throws IOException {
        takeover.begin(new ForwardingListener(listener));
    }

    /**
     * Waits until all connections that were accepted on this process's ports have ended. Connections of closed channels
     * with unacknowledged data are included. Outgoing connections are not included. If a server channel is closed, its
     * connections are not included any more; keep it open. Blocks; must not be called on an event loop, because the
     * loops count the connections.
     *
     * @param timeout maximum time to wait
     * @return false if connections remain after that time, or if a loop does not answer
     * @throws InterruptedException if the calling thread is interrupted
     */
    public boolean awaitDrained(Duration timeout) throws InterruptedException {
        return takeover.awaitDrained(timeout);
    }

    /** Returns the implementation. */
    Takeover takeover() {
        return takeover;
    }

    /**
     * Stops offering ports. A successor keeps the ports that it has taken over. Call this last, after the event loops
     * have ended: from then on the successor answers all segments.
     */
    @Override
    public void close() {
        takeover.close();
    }

    /** Forwards the events of a takeover to the user's listener. */
    private record ForwardingListener(Listener listener) implements TakeoverListener {
        @Override
        public void handedOver(long successorPid) {
            listener.handedOver(successorPid);
        }

        @Override
        public void resumed() {
            listener.resumed();
        }
    }
}
