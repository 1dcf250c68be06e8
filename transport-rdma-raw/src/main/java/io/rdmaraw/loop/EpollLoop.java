package io.rdmaraw.loop;

import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoOps;
import io.netty.channel.IoRegistration;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandle;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.netty.util.internal.StringUtil;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;

/**
 * The Unix domain sockets of Netty's epoll transport on a loop, served by Netty's epoll handler in turn with the
 * queues. The handler is created with the first such socket. Its jar is optional.
 *
 * <p>The handler does not publish the descriptor on which it waits. {@link LoopDescriptors} therefore watches each
 * socket too, edge-triggered, and the handler runs without blocking after each edge. It runs again until it finds no
 * event, and after each change of the events that a channel waits for. No event is missed: it occurs either before such
 * a run, or it raises another edge.
 */
public final class EpollLoop {
    private static final int SO_DOMAIN = 39;

    private final ThreadAwareExecutor executor;
    private final LoopDescriptors descriptors;
    private IoHandler handler;
    private boolean runScheduled;

    public EpollLoop(ThreadAwareExecutor executor, LoopDescriptors descriptors) {
        this.executor = executor;
        this.descriptors = descriptors;
    }

    /** Returns whether handles of a type can be registered. May be called on any thread. */
    public boolean isCompatible(Class<? extends IoHandle> handleType) {
        return Netty.AVAILABLE && Netty.isHandle(handleType);
    }

    /**
     * Registers a Unix domain socket.
     *
     * @throws IllegalArgumentException if the socket is not a Unix domain socket
     */
    public IoRegistration register(IoHandle handle) throws Exception {
        int fd = Netty.descriptor(handle);
        requireUnixDomain(handle, fd);
        if (handler == null) {
            IoHandler created = Netty.newHandler(executor);
            created.initialize();
            handler = created;
        }
        WatchedRegistration registration = new WatchedRegistration(handle, handler.register(handle));
        try {
            descriptors.addEdgeTriggered(fd, registration);
        } catch (Exception e) {
            registration.delegate.cancel();
            throw e;
        }
        return registration;
    }

    private static void requireUnixDomain(IoHandle handle, int fd) {
        long value = Libc.allocateZeroed(2L * Integer.BYTES);
        try {
            NativeMemory.putInt(value + Integer.BYTES, Integer.BYTES);
            int result = NativeSocket.getOption(fd, NativeSocket.SOL_SOCKET, SO_DOMAIN, value, value + Integer.BYTES);
            if (result != 0) {
                throw new IllegalStateException("cannot read the address family of " + handle + ": "
                        + Errno.describe(-result));
            }
            if (NativeMemory.getInt(value) != NativeSocket.AF_UNIX) {
                throw new IllegalArgumentException(StringUtil.simpleClassName(handle) + ": of Netty's epoll channels,"
                        + " loops of this transport serve Unix domain sockets only. For TCP and UDP, use the channel"
                        + " classes of this transport");
            }
        } finally {
            Libc.free(value);
        }
    }

    private void scheduleRun() {
        if (!executor.isExecutorThread(Thread.currentThread())) {
            executor.execute(this::scheduleRun);
        } else if (!runScheduled) {
            runScheduled = true;
            executor.execute(this::runHandler);
        }
    }

    private void runHandler() {
        runScheduled = false;
        if (handler.run(NonBlockingContext.INSTANCE) > 0) {
            scheduleRun();
        }
    }

    public void prepareToDestroy() {
        if (handler != null) {
            handler.prepareToDestroy();
        }
    }

    public void destroy() {
        if (handler != null) {
            handler.destroy();
        }
    }

    /** The registration of a socket with Netty's handler and with {@link LoopDescriptors}. */
    private final class WatchedRegistration extends DelegatedRegistration implements LoopDescriptors.Handler {
        private final IoHandle handle;

        WatchedRegistration(IoHandle handle, IoRegistration delegate) {
            super(executor, delegate);
            this.handle = handle;
        }

        @Override
        public void onReady() {
            runHandler();
        }

        @Override
        public long submit(IoOps ops) {
            long submitted = super.submit(ops);
            scheduleRun();
            return submitted;
        }

        @Override
        void removed() {
            // Another file may have the number of a closed descriptor. The kernel no longer watches a closed one.
            int fd = Netty.isOpen(handle) ? Netty.descriptor(handle) : LoopDescriptors.NO_FD;
            descriptors.remove(fd, this);
        }
    }

    /** Uses the classes of the optional jar. */
    private static final class Netty {
        static final boolean AVAILABLE = isAvailable();

        private static boolean isAvailable() {
            try {
                return Epoll.isAvailable();
            } catch (LinkageError e) {
                return false;
            }
        }

        static boolean isHandle(Class<?> type) {
            return EpollIoHandle.class.isAssignableFrom(type);
        }

        static int descriptor(IoHandle handle) {
            return ((EpollIoHandle) handle).fd().intValue();
        }

        static boolean isOpen(IoHandle handle) {
            return ((EpollIoHandle) handle).fd().isOpen();
        }

        static IoHandler newHandler(ThreadAwareExecutor executor) {
            return EpollIoHandler.newFactory().newHandler(executor);
        }
    }
}
