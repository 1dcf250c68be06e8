package io.rdmaraw.verbs;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Something that lives in the provider and is destroyed by {@link #close}. Closing first closes, newest first,
 * everything that was made from this object or uses it; closing twice is harmless.
 *
 * <p>Creation and closing are thread-safe. They must not run into a hot call (post, poll) on the same object in another
 * thread: stop the thread that uses it before closing.
 */
public abstract sealed class VerbsObject implements AutoCloseable
        permits VerbsContext, ProtectionDomain, MemoryRegion, CompletionChannel, CompletionQueue, QueuePair, Flow,
        WorkQueue, RwqIndirectionTable {
    /** One lock for the whole tree of a context: creation and closing are rare. */
    final ReentrantLock lifecycle;
    /** The address of the C structure; 0 once closed. Read by the hot path, hence not volatile. */
    long address;

    private final VerbsObject[] uses;
    private final List<VerbsObject> usedBy = new ArrayList<>();

    VerbsObject(ReentrantLock lifecycle, long address, VerbsObject... uses) {
        this.lifecycle = lifecycle;
        this.address = address;
        this.uses = uses;
        for (VerbsObject object : uses) {
            object.usedBy.add(this);
        }
    }

    /** Destroys the C object; returns 0 or the error number. */
    abstract int destroy(long address);

    /** Returns the name of the C function that {@link #destroy} calls. */
    abstract String destroyCall();

    /** Releases what belongs to this Java object; called once, after the C object is gone. */
    void released(long address) {
    }

    /** Returns whether the object has been closed. */
    public final boolean isClosed() {
        return address == 0;
    }

    /**
     * Closes everything that uses this object, then this object.
     *
     * @throws VerbsException when the provider refuses; the object is then still open, and closing can be tried again
     */
    @Override
    public final void close() {
        lifecycle.lock();
        try {
            if (address != 0) {
                closeUsers();
                int errno = destroy(address);
                VerbsException.check(destroyCall(), errno, "");
                detach();
            }
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Returns the address of the C structure, for libraries that go beyond verbs, such as libmlx5.
     *
     * @throws IllegalStateException when the object is closed
     */
    public final long nativeAddress() {
        return openAddress();
    }

    /** Returns the address of the C structure, for the calls that are not hot. */
    public final long openAddress() {
        long a = address;
        if (a == 0) {
            throw closed();
        }
        return a;
    }

    final IllegalStateException closed() {
        return new IllegalStateException("this " + getClass().getSimpleName() + " is closed");
    }

    private void closeUsers() {
        RuntimeException failure = null;
        // A user may close further users of this object on its way (a queue pair its flows): hence a copy, and an
        // object that is closed already is passed over by close itself.
        for (VerbsObject user : usedBy.reversed().toArray(VerbsObject[]::new)) {
            try {
                user.close();
            } catch (RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    private void detach() {
        long old = address;
        address = 0;
        for (VerbsObject object : uses) {
            object.usedBy.remove(this);
        }
        released(old);
    }
}
