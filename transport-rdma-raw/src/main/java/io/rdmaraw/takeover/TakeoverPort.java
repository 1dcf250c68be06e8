package io.rdmaraw.takeover;

import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.kernel.KernelPort;
import io.rdmaraw.tcp.stack.ListeningPort;
import io.rdmaraw.tcp.stack.PortHandover;
import io.rdmaraw.tcp.stack.TcpStack;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A listening port that a takeover passes between two processes. Thread-safe. */
public final class TakeoverPort {
    private static final String PACKET = "soft:packet:";
    private static final String XDP = "soft:xdp:";
    private static final String XDP_MODE = "SOFTVERBS_XDP_MODE";
    /** A short limit, because no process accepts new connections during this wait. */
    private static final long LOOP_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final Takeover takeover;
    private final ServerLoop loop;
    private final KernelPort kernelPort;
    private final ListeningPort port;
    private final TakeoverMessage.Port description;

    /** Runs actions on the event loop of the channel that listens on the port. */
    public interface ServerLoop {
        /**
         * Runs an action. If the loop has ended, runs {@code onLoopEnded} on the calling thread. May be called on any
         * thread.
         */
        void run(Runnable action, Runnable onLoopEnded);
    }

    TakeoverPort(Takeover takeover, ServerLoop loop, KernelPort kernelPort, String device, ListeningPort port) {
        this.takeover = takeover;
        this.loop = loop;
        this.kernelPort = kernelPort;
        this.port = port;
        TcpNetwork.Binding binding = port.binding();
        description = new TakeoverMessage.Port(device, binding.local(), binding.port());
    }

    /** Returns the key by which {@link PortHandover} matches the segments of a port. */
    static PortHandover.HandoverPort handoverPort(TakeoverMessage.Port port) {
        return new PortHandover.HandoverPort(port.local(), port.number());
    }

    /**
     * Checks that two processes can listen on a port of a device at the same time.
     *
     * @throws IOException if they cannot; the message says which devices and options allow it
     */
    public static void requireSharable(String device, TcpNetwork network, boolean reusePort) throws IOException {
        boolean shared = device.startsWith(PACKET) || device.startsWith(XDP) && "tap".equals(System.getenv(XDP_MODE));
        if (!shared) {
            throw new IOException("two processes cannot use " + device + " at a time, so its ports are not taken over:"
                    + " use " + PACKET + "NETDEV, or " + XDP + "NETDEV with " + XDP_MODE + "=tap");
        }
        if (!network.isKernelServed()) {
            throw new IOException("the ports of an address of our own are not taken over, as two processes cannot both "
                    + "have it: use the kernel's addresses");
        }
        if (reusePort) {
            throw new IOException("a port with SO_REUSEPORT is not taken over: let the loops of one group serve it");
        }
    }

    TakeoverMessage.Port description() {
        return description;
    }

    List<TcpStack> stacks() {
        return port.stacks();
    }

    /** Duplicates the descriptor of the kernel's socket on the port; the caller closes it. */
    int duplicateKernelSocket() throws IOException {
        return kernelPort.duplicate();
    }

    /**
     * Shares the port's segments with the successor, or stops sharing them. AF_PACKET needs no such step: it copies
     * each frame to both processes.
     */
    void setShared(boolean shared) {
        if (!description.device().startsWith(PACKET)) {
            port.setSharedWithOtherProcess(shared);
        }
    }

    /**
     * Waits for work on event loops. The wait is limited, because a handler may block a loop.
     *
     * @throws IOException if the work has failed or is not done in time
     */
    static void awaitLoops(CompletableFuture<?> done) throws IOException {
        awaitLoops(done, LOOP_TIMEOUT_NANOS);
    }

    static void awaitLoops(CompletableFuture<?> done, long timeoutNanos) throws IOException {
        try {
            done.get(timeoutNanos, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new IOException("an event loop of this process has done nothing for "
                    + TimeUnit.NANOSECONDS.toSeconds(timeoutNanos) + " s: a handler blocks it", e);
        } catch (ExecutionException e) {
            throw new IOException("an event loop of this process has failed: " + e.getCause().getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while waiting for an event loop");
        }
    }

    private interface Step {
        void run() throws IOException;
    }

    private CompletableFuture<Void> runOnLoop(Step step) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        loop.run(() -> {
            try {
                step.run();
                done.complete(null);
            } catch (IOException | RuntimeException e) {
                done.completeExceptionally(new CompletionException(e));
            }
        }, () -> done.complete(null));
        return done;
    }

    /** Leaves the kernel's socket on the port to the successor. */
    CompletableFuture<Void> suspend() {
        return runOnLoop(kernelPort::suspend);
    }

    /** Accepts from the kernel's socket again. */
    CompletableFuture<Void> resume() {
        return runOnLoop(() -> kernelPort.resume(description.number()));
    }

    /** Returns the number of connections of the port, including those that the kernel carries. */
    CompletableFuture<Integer> connectionCount() {
        return port.connectionCount().thenApply(count -> count + kernelPort.connections());
    }

    /** Withdraws the port: its channel stops listening. */
    public void withdraw() {
        takeover.remove(this);
    }
}
