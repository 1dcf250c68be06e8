package io.rdmaraw.channel;

import io.netty.buffer.ByteBufAllocator;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.net.takeover.TakeoverConnection;
import io.rdmaraw.net.takeover.TakeoverMessage;
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

/** The process that has the ports before this one does. */
final class TakeoverPredecessor {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(RdmaRawTakeover.class);
    private static final long ANSWER_LIMIT_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** Clocks that differ by more are those of two time namespaces: what is made by one means nothing by the other. */
    private static final long SAME_CLOCK_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** Frames that are kept until this process serves. */
    private static final int MAX_EARLY_FRAMES = 4096;

    private final Path path;
    private final TakeoverConnection connection;
    private final PortHandover handover;
    private final TakeoverMessage.Offer offer;
    /** Guarded by itself: servers claim them on their loops. */
    private final List<Integer> descriptors;
    /** The places of the offered ports that are bound here, and by whom. */
    private final Map<Integer, TakeoverPort> taken = new HashMap<>();
    private final List<TakeoverMessage.Frame> early = new ArrayList<>();

    private TakeoverPredecessor(Path path, TakeoverConnection connection, PortHandover handover,
            TakeoverMessage.Offer offer) {
        this.path = path;
        this.connection = connection;
        this.handover = handover;
        this.offer = offer;
        descriptors = new ArrayList<>(connection.takeDescriptors());
    }

    /**
     * Finds the process that serves at a path; returns null when there is none.
     *
     * @throws IOException when it does not hand over its ports to this process, with the reason
     */
    static TakeoverPredecessor find(Path path, PortHandover handover) throws IOException {
        TakeoverConnection connection = TakeoverConnection.connect(path);
        if (connection == null) {
            return null;
        }
        try {
            connection.send(new TakeoverMessage.Hello());
            TakeoverMessage answer = connection.receive(ANSWER_LIMIT_NANOS);
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
            // It has ended just now, or been killed.
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
        handover.begin(offer.ports().stream().map(TakeoverPort::shared).toList(), Role.WAITING);
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

    /** Returns a descriptor of the kernel's socket of a port, which is the caller's; -1 when none is offered. */
    int claim(TakeoverMessage.Port port) throws IOException {
        int place = offer.ports().indexOf(port);
        synchronized (descriptors) {
            if (place < 0 || descriptors.isEmpty()) {
                return -1;
            }
            int made = Libc.duplicate(descriptors.get(place));
            if (made < 0) {
                throw new IOException("port " + port.number() + " cannot be taken over: " + Errno.describe(-made));
            }
            return made;
        }
    }

    /**
     * Serves the ports from now on; returns whether the predecessor is still there.
     *
     * @param secrets of this process
     * @throws IOException when the predecessor goes on to serve; this process then has to end
     */
    boolean take(List<TakeoverPort> ports, TcpSecrets secrets) throws IOException {
        for (TakeoverPort port : ports) {
            int place = offer.ports().indexOf(port.description());
            if (place >= 0) {
                taken.put(place, port);
            }
        }
        if (taken.isEmpty()) {
            throw new IOException("nothing is taken over from process " + pid() + ", which has " + offer.ports()
                    + ": bind the same address and port on the same device, before begin()");
        }
        try {
            connection.send(new TakeoverMessage.Take(List.copyOf(taken.keySet())));
            LOGGER.info("{} ports are bound, and taken over from process {}", taken.size(), pid());
            if (((TakeoverMessage.Stopped) await(TakeoverMessage.Stopped.class)).cookiesOut()) {
                secrets.onCookieSent(System.nanoTime());
            }
            if (isRevoked()) {
                throw revoked();
            }
            serve(Role.BESIDE);
            connection.send(new TakeoverMessage.Serving());
            LOGGER.info("serves what process {} has served", pid());
            await(TakeoverMessage.Done.class);
            return true;
        } catch (EOFException e) {
            requireItsEnd();
            LOGGER.info("process {} has ended during the takeover; its connections are lost", pid());
            serve(Role.ALONE);
            return false;
        } catch (IOException | RuntimeException e) {
            handover.role(Role.WAITING);
            throw e;
        }
    }

    /**
     * The connection has ended, which tells little: a predecessor that has waited for too long closes it and serves.
     * Two processes that both opened connections would reset each other's.
     *
     * @throws IOException when the predecessor is there
     */
    private void requireItsEnd() throws IOException {
        boolean ended = false;
        try {
            ended = !isRevoked() && !TakeoverConnection.isServed(path, ANSWER_LIMIT_NANOS);
        } finally {
            if (!ended) {
                handover.role(Role.WAITING);
            }
        }
        if (!ended) {
            throw revoked();
        }
    }

    /** What the queues have now was there before the predecessor stopped, which has had it too. */
    private void serve(Role role) throws IOException {
        Set<TcpStack> stacks = new LinkedHashSet<>();
        taken.values().forEach(port -> stacks.addAll(port.stacks()));
        TakeoverPort.await(PortHandover.settle(stacks));
        handover.role(role);
        early.forEach(this::deliver);
        early.clear();
    }

    private TakeoverMessage await(Class<? extends TakeoverMessage> wanted) throws IOException {
        while (true) {
            TakeoverMessage message = connection.receive(ANSWER_LIMIT_NANOS);
            switch (message) {
                case TakeoverMessage.Frame frame when handover.role() == Role.BESIDE -> deliver(frame);
                case TakeoverMessage.Frame frame -> keep(frame);
                case TakeoverMessage.Revoked revoked -> throw revoked();
                default -> {
                    if (wanted.isInstance(message)) {
                        return message;
                    }
                    throw unexpected(connection, message);
                }
            }
        }
    }

    private IOException revoked() {
        return new IOException("process " + pid() + " has waited for this one for too long, and serves again");
    }

    /**
     * Reads what has come already: a process that was stopped for a time learns only by that whether the predecessor
     * still waits for it, has ended, or serves again and has closed the connection.
     */
    private boolean isRevoked() {
        try {
            while (true) {
                TakeoverMessage message = connection.receive(0);
                if (message instanceof TakeoverMessage.Revoked) {
                    return true;
                }
                if (message instanceof TakeoverMessage.Frame frame) {
                    keep(frame);
                }
            }
        } catch (IOException e) {
            // There is no more, for now or for ever.
            return false;
        }
    }

    private void keep(TakeoverMessage.Frame frame) {
        if (early.size() < MAX_EARLY_FRAMES) {
            early.add(frame);
        }
    }

    private void deliver(TakeoverMessage.Frame frame) {
        TakeoverPort port = taken.get(frame.place());
        if (port != null) {
            port.stacks().getFirst().segmentByProcess(ByteBufAllocator.DEFAULT.directBuffer(frame.bytes().length)
                    .writeBytes(frame.bytes()));
        }
    }

    /** Waits for the predecessor's end for some time; returns whether it has come. */
    boolean hasEnded(long timeoutNanos) {
        return connection.isReadable(timeoutNanos) && connection.hasEnded();
    }

    /** The predecessor goes on by itself, if it is there. */
    void close() {
        closeDescriptors();
        connection.close();
    }

    /** The sockets have been taken: the descriptors are no longer wanted. */
    void closeDescriptors() {
        synchronized (descriptors) {
            descriptors.forEach(Libc::close);
            descriptors.clear();
        }
    }
}
