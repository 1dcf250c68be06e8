package io.rdmaraw.testsuite.contract;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.netty.channel.DefaultMaxBytesRecvByteBufAllocator;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.ServerChannelRecvByteBufAllocator;

/** The receive allocators of programs: all classes with several sizes, and allocators that throw. */
final class ReceiveAllocators {
    static final int COUNT = 15;
    private static final int FIRST_THAT_THROWS = 9;
    private static final String[] THROWING_CALLS = {"guess", "allocate", "lastBytesRead", "continueReading",
        "readComplete", "allocate"};

    private ReceiveAllocators() {
    }

    /** Creates an allocator, or returns null for the channel's default. */
    static RecvByteBufAllocator create(int index) {
        return switch (index) {
            case 0 -> null;
            case 1 -> new FixedRecvByteBufAllocator(64);
            case 2 -> new FixedRecvByteBufAllocator(2048);
            case 3 -> new AdaptiveRecvByteBufAllocator(64, 128, 256);
            case 4 -> new AdaptiveRecvByteBufAllocator(64, 1024, 65536);
            case 5 -> new FixedRecvByteBufAllocator(7);
            case 6 -> new FixedRecvByteBufAllocator(512).maxMessagesPerRead(1);
            case 7 -> new DefaultMaxBytesRecvByteBufAllocator(1024, 300);
            case 8 -> new ServerChannelRecvByteBufAllocator();
            default -> new Throwing(THROWING_CALLS[index - FIRST_THAT_THROWS], index < COUNT - 1);
        };
    }

    /** Returns the maximum length of a message in bytes. */
    static int limit(int index) {
        return switch (index) {
            case 1 -> 64;
            case 2, 9, 10, 11, 12, 13, 14 -> 2048;
            case 3 -> 256;
            case 4 -> 65536;
            case 5 -> 7;
            case 6 -> 512;
            case 7 -> 300;
            case 8 -> 128;
            default -> 65536;
        };
    }

    /** Returns whether the allocator throws in guess or allocate, which not every transport calls. */
    static boolean throwsBeforeRead(int index) {
        return isThrowing(index) && (THROWING_CALLS[index - FIRST_THAT_THROWS].equals("guess")
                || THROWING_CALLS[index - FIRST_THAT_THROWS].equals("allocate"));
    }

    static boolean isThrowing(int index) {
        return index >= FIRST_THAT_THROWS;
    }

    static String source(int index) {
        return switch (index) {
            case 1, 2, 5 -> "new FixedRecvByteBufAllocator(" + limit(index) + ")";
            case 3 -> "new AdaptiveRecvByteBufAllocator(64, 128, 256)";
            case 4 -> "new AdaptiveRecvByteBufAllocator(64, 1024, 65536)";
            case 6 -> "new FixedRecvByteBufAllocator(512).maxMessagesPerRead(1)";
            case 7 -> "new DefaultMaxBytesRecvByteBufAllocator(1024, 300)";
            case 8 -> "new ServerChannelRecvByteBufAllocator()";
            default -> "throws " + (index < COUNT - 1 ? "AssertionError" : "IllegalStateException") + " in its first "
                    + THROWING_CALLS[index - FIRST_THAT_THROWS];
        };
    }

    /** An allocator with a handle that throws in the first call of one method. */
    private static final class Throwing extends FixedRecvByteBufAllocator {
        private final String call;
        private final boolean error;

        Throwing(String call, boolean error) {
            super(limit(FIRST_THAT_THROWS));
            this.call = call;
            this.error = error;
        }

        @Override
        @SuppressWarnings("deprecation") // the only way to create a handle
        public Handle newHandle() {
            return new ThrowingHandle((ExtendedHandle) super.newHandle());
        }

        /** Forwards to the handle of the superclass and counts the calls. */
        private final class ThrowingHandle extends DelegatingHandle implements ExtendedHandle {
            private int calls;

            ThrowingHandle(ExtendedHandle delegate) {
                super(delegate);
            }

            private void called(String name) {
                if (name.equals(call) && ++calls == 1) {
                    if (error) {
                        throw new AssertionError("the program's allocator");
                    }
                    throw new IllegalStateException("the program's allocator");
                }
            }

            @Override
            public ByteBuf allocate(ByteBufAllocator alloc) {
                called("allocate");
                return super.allocate(alloc);
            }

            @Override
            public int guess() {
                called("guess");
                return super.guess();
            }

            @Override
            public void lastBytesRead(int bytes) {
                if (bytes > 0) {
                    called("lastBytesRead");
                }
                super.lastBytesRead(bytes);
            }

            @Override
            public boolean continueReading() {
                called("continueReading");
                return super.continueReading();
            }

            @Override
            public boolean continueReading(io.netty.util.UncheckedBooleanSupplier maybeMore) {
                called("continueReading");
                return ((ExtendedHandle) delegate()).continueReading(maybeMore);
            }

            @Override
            public void readComplete() {
                called("readComplete");
                super.readComplete();
            }
        }
    }
}
