package io.rdmaraw.memory;

import io.netty.buffer.AbstractByteBuf;
import io.netty.buffer.ByteBuf;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.internal.ObjectUtil;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A buffer that stores its reference count in itself.
 *
 * <p>It behaves like Netty's {@link io.netty.buffer.AbstractReferenceCountedByteBuf}, except that releasing the
 * last reference needs no atomic operation, which would be most of its cost: the holder of the last reference
 * has exclusive access. Releasing a buffer once too often is detected as in Netty, unless two threads do so at
 * the same moment.
 */
abstract class CountedByteBuf extends AbstractByteBuf {
    private static final VarHandle REFERENCES;

    static {
        try {
            REFERENCES = MethodHandles.lookup().findVarHandle(CountedByteBuf.class, "references", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @SuppressWarnings("unused") // Accessed through REFERENCES.
    private int references;

    CountedByteBuf() {
        super(Integer.MAX_VALUE);
    }

    /** Frees the memory after the last reference was released. */
    abstract void deallocate();

    /** Sets the reference count of a free buffer to one. */
    final void resetRefCnt() {
        REFERENCES.setRelease(this, 1);
    }

    @Override
    public final int refCnt() {
        return (int) REFERENCES.getAcquire(this);
    }

    @Override
    public final ByteBuf retain() {
        return retain0(1);
    }

    @Override
    public final ByteBuf retain(int increment) {
        return retain0(ObjectUtil.checkPositive(increment, "increment"));
    }

    private ByteBuf retain0(int increment) {
        int count;
        do {
            count = refCnt();
            if (count <= 0 || count > Integer.MAX_VALUE - increment) {
                throw new IllegalReferenceCountException(count, increment);
            }
        } while (!REFERENCES.compareAndSet(this, count, count + increment));
        return this;
    }

    @Override
    public final ByteBuf touch() {
        return this;
    }

    @Override
    public final ByteBuf touch(Object hint) {
        return this;
    }

    /**
     * Releases the last reference without calling {@link #deallocate}. Returns false and does nothing if it is
     * not the last one.
     */
    final boolean releaseLast() {
        if (refCnt() != 1) {
            return false;
        }
        REFERENCES.setOpaque(this, 0);
        return true;
    }

    @Override
    public final boolean release() {
        if (!releaseLast()) {
            return release0(1);
        }
        deallocate();
        return true;
    }

    @Override
    public final boolean release(int decrement) {
        return release0(ObjectUtil.checkPositive(decrement, "decrement"));
    }

    private boolean release0(int decrement) {
        int count;
        do {
            count = refCnt();
            if (count < decrement) {
                throw new IllegalReferenceCountException(count, -decrement);
            }
        } while (!REFERENCES.compareAndSet(this, count, count - decrement));
        if (count == decrement) {
            deallocate();
            return true;
        }
        return false;
    }
}
