package io.rdmaraw.channel.io;

import io.netty.channel.AbstractChannel;
import io.netty.channel.Channel;
import io.netty.channel.socket.ServerSocketChannelConfig;
import io.rdmaraw.loop.LoopTasks;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The accept queue of a server channel. It fires accepted connections into the pipeline while the user reads, and
 * queues them otherwise. Each connection occupies a place of the backlog from its acceptance, by a loop or the kernel,
 * until it is fired or discarded. Used on the channel's loop, unless a method says otherwise.
 */
public final class AcceptInbox extends Inbox<Channel> {
    private final AbstractChannel server;
    private final ServerSocketChannelConfig config;
    private final Runnable onRoom;
    /** Number of connections in the backlog. */
    private final AtomicInteger backlogSize = new AtomicInteger();
    /** Whether the user reads. */
    private volatile boolean reading;
    private boolean readsWhenRegistered;
    /** Whether the channel has left a loop and joined no other. */
    private volatile boolean offLoop;
    /** Connections that were accepted while the channel was {@link #offLoop}. */
    private final Queue<Channel> acceptedOffLoop = new ConcurrentLinkedQueue<>();

    /**
     * Creates the accept queue of a server channel.
     *
     * @param onRoom run on any thread when {@link #acceptsNow} may have become true
     */
    public AcceptInbox(AbstractChannel server, ServerSocketChannelConfig config, ReadSettings settings,
            Runnable onRoom) {
        super(server, settings);
        this.server = server;
        this.config = config;
        this.onRoom = onRoom;
    }

    // ---- the backlog ----

    /** Reserves a place in the backlog. Returns false if it is full or the server is closed. Thread-safe. */
    public boolean reservePlace() {
        if (!server.isOpen()) {
            return false;
        }
        if (backlogSize.incrementAndGet() <= config.getBacklog()) {
            return true;
        }
        backlogSize.decrementAndGet();
        onRoom.run();
        return false;
    }

    /** Reserves a place for a connection that the kernel has accepted, even if the backlog is full. Thread-safe. */
    public void reservePlaceOfKernel() {
        backlogSize.incrementAndGet();
        reading = config.isAutoRead();
    }

    /** Returns whether the backlog has a free place. Thread-safe. */
    public boolean hasFreePlace() {
        return backlogSize.get() < config.getBacklog();
    }

    /** Returns whether the user reads and the backlog has a free place. Thread-safe. */
    public boolean acceptsNow() {
        return reading && hasFreePlace();
    }

    private void releasePlace() {
        backlogSize.decrementAndGet();
        reading = isReadPending() || config.isAutoRead();
        onRoom.run();
    }

    // ---- accepted connections ----

    /** Adds a connection, which has a place in the backlog. The channel may have left the caller's loop. */
    public void add(Channel child) {
        if (offLoop) {
            acceptedOffLoop.add(child);
            if (!offLoop) {
                addAcceptedOffLoop();
            }
        } else if (!server.eventLoop().inEventLoop()) {
            // The channel has joined another loop after the check of the caller.
            LoopTasks.runOnLoopOf(server, () -> add(child), () -> discard(child));
        } else if (receive(child)) {
            endBurst();
        }
    }

    private void addAcceptedOffLoop() {
        for (Channel child = acceptedOffLoop.poll(); child != null; child = acceptedOffLoop.poll()) {
            add(child);
        }
    }

    @Override
    protected boolean deliver(Channel child) {
        completeReadRequest();
        releasePlace();
        return super.deliver(child);
    }

    @Override
    public void discard(Channel child) {
        releasePlace();
        child.unsafe().closeForcibly();
    }

    @Override
    protected int bytesOf(Channel child) {
        return 0;
    }

    @Override
    protected boolean hasRoom(Channel child, int queuedMessages, long queuedBytes) {
        // The child already has a place in the backlog.
        return true;
    }

    @Override
    protected void countDropped() {
        // Children are dropped only when the server closes. The TCP stack counts the connections beyond the backlog.
    }

    @Override
    protected void countReceived(int messages, int bytes) {
        // Each child channel counts its own traffic.
    }

    // ---- the channel ----

    @Override
    public void beginRead() {
        if (server.isRegistered()) {
            startReading();
        } else {
            // Bind was called directly after the registration. Netty calls no handler before the registration is
            // complete.
            readsWhenRegistered = true;
        }
    }

    private void startReading() {
        super.beginRead();
        reading = true;
        onRoom.run();
    }

    /** Called after the promise of a registration was completed. */
    public void registrationDone() {
        if (readsWhenRegistered) {
            readsWhenRegistered = false;
            startReading();
        }
        offLoop = false;
        addAcceptedOffLoop();
    }

    @Override
    public void stopReading() {
        super.stopReading();
        reading = false;
    }

    @Override
    public void joinLoop() {
        super.joinLoop();
        reading = isReadPending();
    }

    /** Lets new connections wait until the channel joins another loop. */
    @Override
    public void leaveLoop() {
        offLoop = server.isOpen();
        reading = false;
        super.leaveLoop();
    }

    /** Returns whether the channel has left a loop and joined no other. */
    public boolean isOffLoop() {
        return offLoop;
    }

    @Override
    public int close() {
        int dropped = super.close();
        offLoop = false;
        for (Channel child = acceptedOffLoop.poll(); child != null; child = acceptedOffLoop.poll()) {
            discard(child);
        }
        return dropped;
    }
}
