package io.rdmaraw.takeover;

import io.netty.buffer.ByteBufAllocator;
import io.netty.util.internal.logging.InternalLogger;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.tcp.TcpSecrets;
import io.rdmaraw.tcp.stack.PortHandover;
import io.rdmaraw.tcp.stack.PortHandover.Role;
import io.rdmaraw.tcp.stack.TcpStack;

import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The successor's side of a takeover: the connection to the process that still serves the ports. {@link #find}
 * receives its offer. Servers {@linkplain #duplicateSocketOf duplicate} the kernel's sockets while they bind.
 * {@link #takeOver} takes over the ports.
 */
final class TakeoverPredecessor {
    private static final InternalLogger LOGGER = Takeover.LOGGER;
    private static final long ANSWER_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(10);
    /**
     * Clocks that differ by more belong to different time namespaces. Sequence numbers and SYN cookies depend on the
     * clock, so the secrets for them are useless then.
     */
    private static final long SAME_CLOCK_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** Maximum number of frames kept until this process serves. */
    private static final int MAX_EARLY_FRAMES = 4096;

    private final Path path;
    private final TakeoverConnection connection;
    private final PortHandover handover;
    private final TakeoverMessage.Offer offer;
    /** The kernel's sockets, in the order of the offer. Guarded by the list: servers duplicate them on their loops. */
    private final List<Integer> descriptors;
    /** The ports that this process has bound, by their places in the offer. */
    private final Map<Integer, TakeoverPort> takenPorts = new HashMap<>();
    private final List<TakeoverMessage.Frame> earlyFrames = new ArrayList<>();

    private TakeoverPredecessor(Path path, TakeoverConnection connection, PortHandover handover,
            TakeoverMessage.Offer offer) {
        this.path = path;
        this.connection = connection;
        this.handover = handover;
        this.offer = offer;
        descriptors = new ArrayList<>(connection.pollDescriptors());
    }

    /**
     * Connects to the process that serves at a path and receives its offer. Returns null if there is no process.
     *
     * @throws IOException if that process does not hand over its ports; the message has the reason
     */
    static TakeoverPredecessor find(Path path, PortHandover handover) throws IOException {
        TakeoverConnection connection = TakeoverConnection.connect(path);
        if (connection == null) {
            return null;
        }
        try {
            connection.send(new TakeoverMessage.Hello());
            TakeoverMessage answer = connection.receive(ANSWER_TIMEOUT_NANOS);
            if (answer instanceof TakeoverMessage.Refusal refusal) {
                throw new IOException("process " + connection.peerPid() + " does not hand over its ports: "
                        + refusal.reason());
            }
            if (!(answer instanceof TakeoverMessage.Offer offer)) {
                throw unexpected(connection, answer);
            }
            TakeoverPredecessor found = new TakeoverPredecessor(path, connection, handover, offer);
            found.begin();
            return found;
        } catch (EOFException e) {
            // The process has just ended or was killed.
            connection.close();
            return null;
        } catch (SocketTimeoutException e) {
            connection.close();
            throw new IOException("process " + connection.peerPid() + " serves at '" + path + "' and does not answer: "
                    + "it is stopped, or hands over its ports to another process; wait, or end it", e);
        } catch (IOException e) {
            connection.close();
            throw e;
        }
    }

    private static IOException unexpected(TakeoverConnection connection, TakeoverMessage message) {
        return new IOException("process " + connection.peerPid() + " has sent " + message.getClass().getSimpleName()
                + " out of turn");
    }

    private void begin() throws IOException {
        if (descriptors.size() != offer.ports().size()) {
            close();
            throw new IOException("process " + pid() + " offers " + offer.ports().size() + " ports and has sent the "
                    + "sockets of " + descriptors.size());
        }
        LOGGER.info("process {} offers {}", pid(), offer.ports());
        handover.begin(offer.ports().stream().map(TakeoverPort::handoverPort).toList(), Role.WAITING);
    }

    int pid() {
        return connection.peerPid();
    }

    TcpSecrets secrets() {
        boolean sameClock = Math.abs(System.nanoTime() - offer.clockNanos()) < SAME_CLOCK_NANOS;
        if (!sameClock) {
            LOGGER.warn("process {} is in another time namespace: what its SYN cookies have begun is lost", pid());
        }
        return sameClock ? new TcpSecrets(offer.secret0(), offer.secret1()) : null;
    }

    long fastOpenKeyHigh() {
        return offer.fastOpenKeyHigh();
    }

    long fastOpenKeyLow() {
        return offer.fastOpenKeyLow();
    }

    /** Duplicates the descriptor of the kernel's socket on a port; the caller closes it. -1 if it is not offered. */
    int duplicateSocketOf(TakeoverMessage.Port port) throws IOException {
        int portIndex = offer.ports().indexOf(port);
        synchronized (descriptors) {
            if (portIndex < 0 || descriptors.isEmpty()) {
                return -1;
            }
            int descriptor = Libc.duplicate(descriptors.get(portIndex));
            if (descriptor < 0) {
                throw new IOException("port " + port.number() + " cannot be taken over: "
                        + Errno.describe(-descriptor));
            }
            return descriptor;
        }
    }

    /**
     * Takes over the ports: this process serves them when the call returns.
     *
     * @param secrets secrets of this process
     * @return whether the predecessor still runs
     * @throws IOException if the predecessor continues to serve; this process then has to end
     */
    boolean takeOver(List<TakeoverPort> ports, TcpSecrets secrets) throws IOException {
        for (TakeoverPort port : ports) {
            int portIndex = offer.ports().indexOf(port.description());
            if (portIndex >= 0) {
                takenPorts.put(portIndex, port);
            }
        }
        if (takenPorts.isEmpty()) {
            throw new IOException("nothing is taken over from process " + pid() + ", which has " + offer.ports()
                    + ": bind the same address and port on the same device, before begin()");
        }
        try {
            connection.send(new TakeoverMessage.Take(List.copyOf(takenPorts.keySet())));
            LOGGER.info("{} ports are bound, and taken over from process {}", takenPorts.size(), pid());
            if (((TakeoverMessage.Stopped) awaitMessage(TakeoverMessage.Stopped.class)).cookiesOutstanding()) {
                secrets.onCookieSent(System.nanoTime());
            }
            if (pollRevoked()) {
                throw revokedException();
            }
            serve(Role.SERVING);
            connection.send(new TakeoverMessage.Serving());
            LOGGER.info("serves what process {} has served", pid());
            awaitMessage(TakeoverMessage.Done.class);
            return true;
        } catch (EOFException e) {
            requireEnded();
            LOGGER.info("process {} has ended during the takeover; its connections are lost", pid());
            serve(Role.ALONE);
            return false;
        } catch (IOException | RuntimeException e) {
            handover.role(Role.WAITING);
            throw e;
        }
    }

    /**
     * Checks that the predecessor has ended. The end of the connection does not prove it: a predecessor that has waited
     * too long closes the connection and serves again. Two processes that both open connections would reset each
     * other's connections.
     *
     * @throws IOException if the predecessor still runs
     */
    private void requireEnded() throws IOException {
        boolean ended = false;
        try {
            ended = !pollRevoked() && !TakeoverConnection.isServed(path, ANSWER_TIMEOUT_NANOS);
        } finally {
            if (!ended) {
                handover.role(Role.WAITING);
            }
        }
        if (!ended) {
            throw revokedException();
        }
    }

    /**
     * Starts to serve in the given role. First processes the queued frames in the present role. If that is WAITING,
     * unmatched segments are ignored, because the predecessor has received them too.
     */
    private void serve(Role role) throws IOException {
        Set<TcpStack> stacks = new LinkedHashSet<>();
        takenPorts.values().forEach(port -> stacks.addAll(port.stacks()));
        TakeoverPort.awaitLoops(PortHandover.processReceived(stacks));
        handover.role(role);
        earlyFrames.forEach(this::deliver);
        earlyFrames.clear();
    }

    private TakeoverMessage awaitMessage(Class<? extends TakeoverMessage> wanted) throws IOException {
        while (true) {
            TakeoverMessage message = connection.receive(ANSWER_TIMEOUT_NANOS);
            switch (message) {
                case TakeoverMessage.Frame frame when handover.role() == Role.SERVING -> deliver(frame);
                case TakeoverMessage.Frame frame -> storeEarly(frame);
                case TakeoverMessage.Revoked revoked -> throw revokedException();
                default -> {
                    if (wanted.isInstance(message)) {
                        return message;
                    }
                    throw unexpected(connection, message);
                }
            }
        }
    }

    private IOException revokedException() {
        return new IOException("process " + pid() + " has waited for this one for too long, and serves again");
    }

    /**
     * Reads the messages that have arrived and returns whether the predecessor has revoked its offer. A process that
     * was stopped for a while (SIGSTOP) has to check this: the predecessor may have stopped waiting and serve again.
     */
    private boolean pollRevoked() {
        try {
            while (true) {
                TakeoverMessage message = connection.receive(0);
                if (message instanceof TakeoverMessage.Revoked) {
                    return true;
                }
                if (message instanceof TakeoverMessage.Frame frame) {
                    storeEarly(frame);
                }
            }
        } catch (IOException e) {
            // No message is left, or the connection has ended.
            return false;
        }
    }

    private void storeEarly(TakeoverMessage.Frame frame) {
        if (earlyFrames.size() < MAX_EARLY_FRAMES) {
            earlyFrames.add(frame);
        }
    }

    private void deliver(TakeoverMessage.Frame frame) {
        TakeoverPort port = takenPorts.get(frame.portIndex());
        if (port != null) {
            port.stacks().getFirst().receiveFromOtherProcess(ByteBufAllocator.DEFAULT.directBuffer(frame.bytes().length)
                    .writeBytes(frame.bytes()));
        }
    }

    /** Waits for the end of the predecessor; returns false after the timeout. */
    boolean awaitEnd(long timeoutNanos) {
        return connection.awaitReadable(timeoutNanos) && connection.pollEnd();
    }

    /** Closes the connection. A predecessor that still waits for this process serves again. */
    void close() {
        closeDescriptors();
        connection.close();
    }

    /** Closes the descriptors: every server has duplicated its own. */
    void closeDescriptors() {
        synchronized (descriptors) {
            descriptors.forEach(Libc::close);
            descriptors.clear();
        }
    }
}
