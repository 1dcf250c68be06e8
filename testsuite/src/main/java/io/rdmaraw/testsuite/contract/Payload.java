package io.rdmaraw.testsuite.contract;

import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.rdmaraw.testsuite.contract.BufferKind.After;
import io.rdmaraw.testsuite.contract.BufferKind.Shape;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** A buffer to write, its memory, and the references that the writer holds. */
final class Payload {
    private static final PooledByteBufAllocator POOLED = new PooledByteBufAllocator(true);
    private static final AdaptiveByteBufAllocator ADAPTIVE = new AdaptiveByteBufAllocator(true);
    private static final int PARTS = 3;

    /** The buffer to pass to {@code write}. */
    final ByteBuf message;
    private final BufferKind kind;
    private final int write;
    private final int length;
    private final ByteBufAllocator channelAllocator;
    /** The writable buffers that provide the memory of the message, in order. */
    private final List<ByteBuf> memory = new ArrayList<>();
    /** The buffers that the writer still has to release. */
    private final List<ByteBuf> kept = new ArrayList<>();
    private Arena arena;
    private boolean wrapsAddress;

    Payload(BufferKind kind, Shape shape, int write, int length, ByteBufAllocator channelAllocator) {
        this.kind = kind;
        this.write = write;
        this.length = length;
        this.channelAllocator = channelAllocator;
        ByteBuf root = create();
        fill(Content.of(write, length, false));
        message = shaped(root, shape);
    }

    private ByteBuf create() {
        switch (kind) {
            case COMPOSITE, COMPOSITE_OF_SLICES -> {
                return composite();
            }
            case UNRELEASABLE_DIRECT, UNRELEASABLE_POOLED, UNRELEASABLE_ADAPTIVE -> {
                ByteBuf inner = single(kind, length);
                memory.add(inner);
                kept.add(inner);
                return Unpooled.unreleasableBuffer(inner.duplicate().setIndex(0, length));
            }
            default -> {
                ByteBuf root = single(kind, length);
                memory.add(root);
                return root.setIndex(0, length);
            }
        }
    }

    private ByteBuf composite() {
        CompositeByteBuf all = Unpooled.compositeBuffer();
        for (int i = 0; i < PARTS; i++) {
            int size = i < PARTS - 1 ? length / PARTS : length - length / PARTS * (PARTS - 1);
            ByteBuf part = single(i == 0 ? BufferKind.HEAP : BufferKind.POOLED, size);
            memory.add(part);
            part.setIndex(0, size);
            if (kind == BufferKind.COMPOSITE_OF_SLICES) {
                all.addComponent(true, part.retainedSlice(0, size));
                kept.add(part);
            } else {
                all.addComponent(true, part);
            }
        }
        return all;
    }

    private ByteBuf single(BufferKind of, int size) {
        return switch (of) {
            case CHANNEL -> channelAllocator.buffer(size, size);
            case HEAP -> UnpooledByteBufAllocator.DEFAULT.heapBuffer(size, size);
            case DIRECT, UNRELEASABLE_DIRECT -> UnpooledByteBufAllocator.DEFAULT.directBuffer(size, size);
            case POOLED_HEAP -> POOLED.heapBuffer(size, size);
            case ADAPTIVE, UNRELEASABLE_ADAPTIVE -> ADAPTIVE.directBuffer(size, size);
            case ADAPTIVE_HEAP -> ADAPTIVE.heapBuffer(size, size);
            case WRAPPED_ARRAY -> Unpooled.wrappedBuffer(new byte[size]);
            case WRAPPED_DIRECT -> Unpooled.wrappedBuffer(ByteBuffer.allocateDirect(size));
            case WRAPPED_ADDRESS -> wrappedAddress(size);
            default -> POOLED.directBuffer(size, size);
        };
    }

    /** Wraps native memory by its address. Requires that java.nio is open to Netty, which the launcher ensures. */
    private ByteBuf wrappedAddress(int size) {
        arena = Arena.ofShared();
        MemorySegment segment = arena.allocate(Math.max(size, 1));
        try {
            ByteBuf wrapped = Unpooled.wrappedBuffer(segment.address(), size, false);
            wrapsAddress = true;
            return wrapped;
        } catch (Throwable notOpened) {
            // Use an ordinary buffer instead, which the writer must not touch after the write.
            return UnpooledByteBufAllocator.DEFAULT.directBuffer(size, size);
        }
    }

    private ByteBuf shaped(ByteBuf root, Shape shape) {
        if (shape.keeps()) {
            kept.add(root);
        }
        return switch (shape) {
            case WHOLE -> root;
            case RETAINED -> root.retain();
            case RETAINED_DUPLICATE -> root.retainedDuplicate();
            case RETAINED_SLICE -> root.retainedSlice();
            case DUPLICATE -> root.retain().duplicate();
            case SLICE -> root.retain().slice();
            case READ_ONLY -> root.retain().asReadOnly();
        };
    }

    private void fill(byte[] bytes) {
        int at = 0;
        for (ByteBuf each : memory) {
            int size = memory.size() == 1 ? length : each.writerIndex() > 0 ? each.writerIndex() : each.capacity();
            each.setBytes(0, bytes, at, size);
            at += size;
        }
    }

    /** Returns whether the writer may touch the memory after the promise has completed. */
    boolean isKept() {
        return !kept.isEmpty() || kind == BufferKind.WRAPPED_ARRAY || kind == BufferKind.WRAPPED_DIRECT
                || wrapsAddress;
    }

    /** Performs the action of the writer after the promise has completed. */
    void after(After action) {
        if (!isKept() || action == After.NOTHING) {
            return;
        }
        byte[] others = Content.of(write, length, true);
        if (action == After.REFILL || memory.size() > 1 || memory.getFirst().refCnt() == 0) {
            if (memory.stream().allMatch(each -> each.refCnt() > 0)) {
                fill(others);
            }
            return;
        }
        releaseKept();
        List<ByteBuf> next = new ArrayList<>();
        for (int i = 0; i < PARTS; i++) {
            next.add(single(kind, length).setBytes(0, others));
        }
        kept.addAll(next);
    }

    /** Releases the references that the writer still holds. */
    void releaseKept() {
        kept.forEach(each -> {
            if (each.refCnt() > 0) {
                each.release();
            }
        });
        kept.clear();
    }

    /** Returns whether the reference count belongs to this buffer only. Pools reuse their buffers. */
    boolean hasReferences() {
        return switch (kind) {
            case HEAP, DIRECT, WRAPPED_ARRAY, WRAPPED_DIRECT, WRAPPED_ADDRESS, UNRELEASABLE_DIRECT -> true;
            default -> false;
        };
    }

    /** Returns the largest reference count of the memory. */
    int references() {
        return memory.stream().mapToInt(ByteBuf::refCnt).max().orElse(0);
    }

    /** Releases everything that the writer holds, and records the remaining references. */
    void end(ProgramRun run, int step) {
        releaseKept();
        if (hasReferences()) {
            run.observe("step" + step + ".references", String.valueOf(references()));
        }
        free();
    }

    /** Frees memory that was wrapped by its address. */
    private void free() {
        if (arena != null && references() == 0) {
            arena.close();
        }
    }
}
