package io.rdmaraw.tcp.stack;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * Location of a connection: the stack that owns it, the stack it is moving to, and the stacks that forward its
 * segments. A connection moves when its channel is registered with another loop. Its flow rules remain with the stack
 * that opened it.
 */
final class ConnectionLocation {
    private static final AtomicReferenceFieldUpdater<ConnectionLocation, Place> PLACE =
            AtomicReferenceFieldUpdater.newUpdater(ConnectionLocation.class, Place.class, "place");

    private final TcpTransport transport;
    /** Stack that owns the flow rules of the connection. */
    private final TcpStack home;
    private volatile Place place;
    /** Further stacks that receive segments of the connection and forward them; null if there are none. */
    private volatile Set<TcpStack> followers;

    ConnectionLocation(TcpTransport transport, TcpStack home) {
        this.transport = transport;
        this.home = home;
        place = home.here();
    }

    /**
     * A consistent pair of owner and destination.
     *
     * @param stack the stack that owns the connection; changes on the destination's loop when the connection arrives
     * @param target the stack that the connection is moving to; equals {@code stack} if it is not moving
     */
    record Place(TcpStack stack, TcpStack target) {
    }

    TcpStack stack() {
        return place.stack;
    }

    /** Returns the stack to forward segments to. It owns the connection, or forwards the segments in turn. */
    TcpStack target() {
        return place.target;
    }

    /** Sets the location of a connection that has ended together with its loop. */
    void setStack(TcpStack destination) {
        place = destination.here();
    }

    /**
     * Moves the connection. Called on the loop that owns it.
     *
     * @param live whether the connection is open
     * @param arrived runs on the destination's loop and adopts the connection there
     */
    void moveTo(TcpStack destination, boolean live, Runnable arrived) {
        Place before = place;
        TcpStack from = before.stack;
        from.unmarkReady(transport);
        if (live) {
            from.moveOut(transport);
            if (from != home) {
                // Segments that the home stack has forwarded to this stack may still be queued.
                addFollower(from);
            }
        }
        destination.executeOrElse(() -> {
            place = destination.here();
            arrived.run();
        }, () -> {
            // The destination loop has ended, and the channel with it. A new Place makes the compareAndSet below fail.
            place = new Place(from, from);
            if (live) {
                from.moveIn(transport);
                transport.connection().abort();
            }
        });
        // The move is published after the task is enqueued. If a segment reached the destination before the connection,
        // the destination would reset it. Until then this stack forwards the segments. The update fails if the
        // connection has already arrived.
        PLACE.compareAndSet(this, before, new Place(from, destination));
    }

    /** Runs a task on the loop that owns the connection. May be called on any thread. */
    void onLoop(Runnable task) {
        onLoop(task, () -> { });
    }

    /** Like {@link #onLoop(Runnable)}. If that loop has ended, {@code ended} runs when its stack has ended too. */
    void onLoop(Runnable task, Runnable ended) {
        Place now = place;
        if (!now.stack.isOnLoop()) {
            passTo(now.stack, now, task, ended);
        } else if (now.target != now.stack) {
            // The connection is moving: its arrival is already a task of the destination loop.
            passTo(now.target, now, task, ended);
        } else {
            task.run();
        }
    }

    private void passTo(TcpStack stack, Place seen, Runnable task, Runnable ended) {
        stack.executeOrElse(() -> onLoop(task, ended), () -> refused(stack, seen, task, ended));
    }

    /**
     * Handles a loop that rejected a task because it has ended. The connection has ended with it, unless it moved
     * before or is still moving.
     */
    private void refused(TcpStack by, Place seen, Runnable task, Runnable ended) {
        Place now = place;
        if (now != seen) {
            onLoop(task, ended);
        } else if (now.target != by) {
            passTo(now.target, now, task, ended);
        } else {
            // The last tasks of the loop may still move the connection away.
            by.whenReleased(() -> {
                if (place == now) {
                    ended.run();
                } else {
                    onLoop(task, ended);
                }
            });
        }
    }

    /**
     * Runs {@code change} on the loop that owns the connection. If the connection moves before that, {@code late} runs
     * on its new loop instead. May be called on any thread.
     */
    void runOnOwner(Runnable change, Runnable late) {
        Place asked = place;
        if (asked.stack.isOnLoop()) {
            runAt(asked, change, late);
        } else {
            asked.stack.executeOrElse(() -> runAt(asked, change, late), () -> onLoop(late));
        }
    }

    private void runAt(Place asked, Runnable change, Runnable late) {
        if (place == asked && asked.target == asked.stack) {
            change.run();
        } else {
            onLoop(late);
        }
    }

    /**
     * Adds a stack other than {@link #home} that receives segments of the connection. It forwards them until the
     * connection ends.
     */
    void addFollower(TcpStack follower) {
        Set<TcpStack> all = new HashSet<>(followers == null ? Set.of() : followers);
        all.add(follower);
        followers = all;
    }

    /** Returns whether other stacks forward segments of the connection. May be called on any thread. */
    boolean isFollowed() {
        return followers != null;
    }

    /** Ends forwarding and releases the flow rules, because the connection has ended. */
    void end() {
        Set<TcpStack> following = followers;
        if (following != null) {
            followers = null;
            following.forEach(follower -> follower.execute(() -> follower.forget(transport)));
        }
        if (home.isOnLoop()) {
            home.transportEnded(transport);
        } else {
            home.executeOrElse(() -> home.transportEnded(transport), () -> transport.port().release(null));
        }
    }
}
