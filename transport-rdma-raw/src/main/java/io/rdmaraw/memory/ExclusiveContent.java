package io.rdmaraw.memory;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;

import java.util.Set;

/**
 * Determines whether a written buffer can be sent in place.
 *
 * <p>The device, and TCP until the acknowledgement, read the memory after the write has completed. By then the
 * writer may reuse its memory. Therefore a buffer is sent in place only if the given reference is known to be
 * the only access to its memory. Any other buffer must be copied.
 *
 * <p>Only Netty's classes and {@link FrameBuf} are known. A buffer of another class may share memory with its
 * creator, or its reference count may be meaningless. Netty's pooled slices and duplicates are treated as
 * unknown: they have a separate reference count and hide that of the buffer they were created from.
 */
public final class ExclusiveContent {
    private static final String NETTY = ByteBuf.class.getPackageName() + '.';
    /** Buffer classes that do not share their memory with any other object. */
    private static final Set<String> MEMORY = Set.of("AdaptivePoolingAllocator$AdaptiveByteBuf", "PooledDirectByteBuf",
            "PooledUnsafeDirectByteBuf", "PooledHeapByteBuf", "PooledUnsafeHeapByteBuf",
            "UnpooledByteBufAllocator$InstrumentedUnpooledDirectByteBuf",
            "UnpooledByteBufAllocator$InstrumentedUnpooledUnsafeDirectByteBuf",
            "UnpooledByteBufAllocator$InstrumentedUnpooledUnsafeNoCleanerDirectByteBuf",
            "UnpooledByteBufAllocator$InstrumentedUnpooledHeapByteBuf",
            "UnpooledByteBufAllocator$InstrumentedUnpooledUnsafeHeapByteBuf", "EmptyByteBuf");
    /** Buffer classes that share the reference count of the buffer that they unwrap to. */
    private static final Set<String> VIEWS = Set.of("UnpooledSlicedByteBuf", "UnpooledDuplicatedByteBuf",
            "SimpleLeakAwareByteBuf", "AdvancedLeakAwareByteBuf");
    private static final Set<String> COMPOSITES = Set.of("CompositeByteBuf", "WrappedCompositeByteBuf",
            "SimpleLeakAwareCompositeByteBuf", "AdvancedLeakAwareCompositeByteBuf");
    /**
     * Views of composite buffers with more components are copied, because each write of a part would check all
     * components.
     */
    private static final int MAX_VIEWED_PARTS = 64;

    private static final ClassValue<Kind> KINDS = new ClassValue<>() {
        @Override
        protected Kind computeValue(Class<?> type) {
            return kindOf(type);
        }
    };

    private enum Kind {
        MEMORY, VIEW, COMPOSITE, UNKNOWN
    }

    private ExclusiveContent() {
    }

    private static Kind kindOf(Class<?> type) {
        if (type == FrameBuf.class) {
            return Kind.MEMORY;
        }
        String name = type.getName();
        String inNetty = name.startsWith(NETTY) ? name.substring(NETTY.length()) : "";
        return MEMORY.contains(inNetty) ? Kind.MEMORY : VIEWS.contains(inNetty) ? Kind.VIEW
                : COMPOSITES.contains(inNetty) ? Kind.COMPOSITE : Kind.UNKNOWN;
    }

    /**
     * Returns whether the caller's reference is the only access to the bytes from the reader index on.
     *
     * @param bytes number of bytes; of a composite buffer, only the components with these bytes are checked
     */
    public static boolean isExclusive(ByteBuf data, int bytes) {
        return isExclusive(data, data.readerIndex(), bytes, false);
    }

    /**
     * Like {@link #isExclusive(ByteBuf, int)}, with a start index.
     *
     * @param foundExclusive whether the buffer was found exclusive before the caller retained it; its
     *                       components are checked nevertheless
     */
    public static boolean isExclusive(ByteBuf data, int index, int bytes, boolean foundExclusive) {
        if (data instanceof FrameBuf) {
            return foundExclusive || data.refCnt() == 1;
        }
        ByteBuf layer = data;
        while (foundExclusive || layer.refCnt() == 1) {
            switch (KINDS.get(layer.getClass())) {
                case MEMORY -> {
                    return true;
                }
                case VIEW -> layer = layer.unwrap();
                case COMPOSITE -> {
                    CompositeByteBuf composite = (CompositeByteBuf) layer;
                    return layer == data ? arePartsExclusive(composite, index, index + bytes)
                            : composite.numComponents() <= MAX_VIEWED_PARTS
                            && arePartsExclusive(composite, 0, composite.capacity());
                }
                case UNKNOWN -> {
                    return false;
                }
            }
        }
        return false;
    }

    /** Returns whether the caller's reference is the only one to a composite buffer of a known class. */
    public static boolean isOnlyReference(CompositeByteBuf composite) {
        return composite.refCnt() == 1 && KINDS.get(composite.getClass()) == Kind.COMPOSITE;
    }

    private static boolean arePartsExclusive(CompositeByteBuf composite, int from, int end) {
        int first = from < end ? composite.toComponentIndex(from) : composite.numComponents();
        for (int i = first; i < composite.numComponents() && composite.toByteIndex(i) < end; i++) {
            ByteBuf part = composite.internalComponent(i);
            if (!isExclusive(part, 0, part.capacity(), false)) {
                return false;
            }
        }
        return true;
    }
}
