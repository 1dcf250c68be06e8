package io.rdmaraw.verbs.objects;

import io.rdmaraw.verbs.VerbsException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A native verbs object, destroyed by {@link #close}. Closing an object first closes all objects that were
 * created from it or use it, newest first. Closing twice has no effect.
 *
 * <p>Creating and closing objects is thread-safe. Do not close an object while another thread posts to it or
 * polls it: stop that thread first.
 */
public abstract sealed class VerbsObject implements AutoCloseable
        permits VerbsContext, ProtectionDomain, MemoryRegion, CompletionChannel, CompletionQueue, QueuePair, Flow,
        WorkQueue, RwqIndirectionTable {
    /** Guards creation and closing of all objects of one context. A single lock suffices because both are rare. */
    final ReentrantLock lifecycle;
    /** The address of the C structure; 0 after closing. Not volatile because the hot path reads it. */
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

    /** Destroys the C object and returns 0 or the error number. */
    abstract int destroy(long address);

    /** Returns the name of the C function that {@link #destroy} calls. */
    abstract String destroyCall();

    /** Releases resources of the Java object. Called once, after the C object has been destroyed. */
    void afterDestroy(long address) {
    }

    /** Returns whether the object has been closed. */
    public final boolean isClosed() {
        return address == 0;
    }

    /**
     * Closes all objects that use this object, then this object.
     *
     * @throws VerbsException if the provider refuses; the object then stays open, and closing can be repeated
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
     * Returns the address of the C structure, for calls outside the hot path and for libraries that extend verbs,
     * such as libmlx5.
     *
     * @throws IllegalStateException if the object is closed
     */
    public final long nativeAddress() {
        long a = address;
        if (a == 0) {
            throw closedException();
        }
        return a;
    }

    final IllegalStateException closedException() {
        return new IllegalStateException("this " + getClass().getSimpleName() + " is closed");
    }

    private void closeUsers() {
        RuntimeException failure = null;
        // Iterate over a copy: closing one object may close others in the list, for example a queue pair closes
        // its flows. Closing an object again has no effect.
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
        afterDestroy(old);
    }
}
