package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.abi.VerbsLayouts.AsyncEventLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.ContextLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.CqInitAttrExLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.DeviceAttrExLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.DeviceAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.DeviceLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.PortAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.VerbsContextLayout;
import io.rdmaraw.verbs.flow.FlowSpecBuilder;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.Arena;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * An open device ({@code struct ibv_context}), the factory of all other verbs objects. Thread-safe.
 *
 * <p>Open one with {@link VerbsDevices#open}. Closing the context closes all objects created from it.
 */
public final class VerbsContext extends VerbsObject {
    /** {@code IBV_ACCESS_LOCAL_WRITE}: the device may write to the memory. Receive buffers need it. */
    public static final int ACCESS_LOCAL_WRITE = 1;
    /** {@code IBV_ACCESS_RELAXED_ORDERING}: PCIe may reorder the device's writes to the memory. */
    public static final int ACCESS_RELAXED_ORDERING = 1 << 20;

    /** {@code __VERBS_ABI_IS_EXTENDED}. */
    private static final long ABI_IS_EXTENDED = -1L;
    private static final int GID_SIZE_BYTES = 16;

    /** The library that provides the device. */
    public final VerbsLibrary library;
    final MemorySegment pollCqFunction;
    final MemorySegment requestNotificationFunction;
    final MemorySegment postSendFunction;
    final MemorySegment postReceiveFunction;
    /** The objects that an asynchronous event can refer to, by the address of their C structure. */
    final ConcurrentHashMap<Long, VerbsObject> eventSources = new ConcurrentHashMap<>();
    private final String deviceName;
    private final int ownPort;
    private final int asyncFd;

    VerbsContext(VerbsLibrary library, String deviceName, int ownPort, long address) {
        super(new ReentrantLock(), address);
        this.library = library;
        this.deviceName = deviceName;
        this.ownPort = ownPort;
        pollCqFunction = operation(ContextLayout.OPS_POLL_CQ_OFFSET, "ibv_poll_cq");
        requestNotificationFunction = operation(ContextLayout.OPS_REQ_NOTIFY_CQ_OFFSET, "ibv_req_notify_cq");
        postSendFunction = operation(ContextLayout.OPS_POST_SEND_OFFSET, "ibv_post_send");
        postReceiveFunction = operation(ContextLayout.OPS_POST_RECV_OFFSET, "ibv_post_recv");
        asyncFd = NativeMemory.getInt(address + ContextLayout.ASYNC_FD_OFFSET);
        VerbsException.check("fcntl", Libc.setNonBlocking(asyncFd), "O_NONBLOCK on the async event descriptor");
    }

    /** Returns the name under which the device was opened. */
    public String deviceName() {
        return deviceName;
    }

    /**
     * Returns the port of the network interface by which the device was opened. If it was opened by the name of the
     * RDMA device, this is the port through which it reaches the network: in switchdev mode that of the uplink.
     */
    public int ownPort() {
        return ownPort;
    }

    /** Returns the number of completion vectors (interrupts) over which completion queues can be spread. */
    public int completionVectorCount() {
        return NativeMemory.getInt(nativeAddress() + ContextLayout.NUM_COMP_VECTORS_OFFSET);
    }

    /** Queries the attributes that every device reports. */
    public DeviceAttributes queryDevice() {
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(DeviceAttrLayout.SIZE_BYTES, Long.BYTES).address();
            VerbsException.check("ibv_query_device", NativeCall.status(library.queryDevice, nativeAddress(), attr),
                    deviceName);
            return DeviceAttributes.read(attr);
        }
    }

    /** Queries the extended attributes. Attributes that the driver does not report are 0. */
    public ExtendedDeviceAttributes queryDeviceExtended() {
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(DeviceAttrExLayout.SIZE_BYTES, Long.BYTES).address();
            long function = extension(VerbsContextLayout.QUERY_DEVICE_EX_OFFSET);
            int errno = function == 0 ? Errno.EOPNOTSUPP
                    : NativeCall.status(function, nativeAddress(), 0, attr, DeviceAttrExLayout.SIZE_BYTES);
            if (errno == Errno.EOPNOTSUPP || errno == Errno.ENOSYS) {
                NativeMemory.fill(attr, DeviceAttrExLayout.SIZE_BYTES, (byte) 0);
                errno = NativeCall.status(library.queryDevice, nativeAddress(), attr);
            }
            VerbsException.check("ibv_query_device_ex", errno, deviceName);
            return ExtendedDeviceAttributes.read(attr);
        }
    }

    /**
     * Queries the attributes of a port.
     *
     * @param port the port number, from 1
     */
    public PortAttributes queryPort(int port) {
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(PortAttrLayout.SIZE_BYTES, Long.BYTES).address();
            long function = extension(VerbsContextLayout.QUERY_PORT_OFFSET);
            int errno = function == 0 ? NativeCall.status(library.queryPort, nativeAddress(), port, attr)
                    : NativeCall.status(function, nativeAddress(), port, attr, PortAttrLayout.SIZE_BYTES);
            VerbsException.check("ibv_query_port", errno, deviceName + " port " + port);
            return PortAttributes.read(attr);
        }
    }

    /** Returns an entry of a port's GID table: 16 bytes in network byte order. */
    public byte[] queryGid(int port, int index) {
        try (Arena arena = Arena.ofConfined()) {
            long gid = arena.allocate(GID_SIZE_BYTES, Long.BYTES).address();
            int errno = NativeCall.status(library.queryGid, nativeAddress(), port, index, gid);
            VerbsException.check("ibv_query_gid", errno, deviceName + " port " + port + " index " + index);
            byte[] bytes = new byte[GID_SIZE_BYTES];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = NativeMemory.getByte(gid + i);
            }
            return bytes;
        }
    }

    /**
     * Returns the name of a port's network interface, which holds the port's kernel addresses. Returns the bond
     * for a port in a bond.
     *
     * @return null if the port has no interface, or the interface is in another network namespace
     */
    public String interfaceName(int port) {
        return PortInterfaceProperties.name(this, port);
    }

    /**
     * Returns the MAC address of a port's network interface.
     *
     * @return 6 bytes
     * @throws VerbsException if the interface is not visible
     */
    public byte[] macAddress(int port) {
        return PortInterfaceProperties.macAddress(this, port);
    }

    /**
     * Returns the MTU of a port's network interface: the maximum payload of a frame in bytes, without the
     * Ethernet header and a VLAN tag. The MTU can change at any time.
     *
     * <p>If the interface is not visible, the system property {@code io.rdmaraw.mtuBytes} decides. If it is not
     * set, this method returns the port's active MTU, a power of two that may be too small.
     */
    public int mtuBytes(int port) {
        return PortInterfaceProperties.mtuBytes(this, port);
    }

    /** Returns the address of the {@code struct ibv_device}, for libraries that extend verbs. */
    public long nativeDeviceAddress() {
        return NativeMemory.getLong(nativeAddress() + ContextLayout.DEVICE_OFFSET);
    }

    /**
     * Returns the provider's name of the device, without a {@code soft:} prefix, for example {@code mlx5_0} or
     * {@code loop}.
     */
    public String providerDeviceName() {
        return NativeMemory.segment(nativeDeviceAddress() + DeviceLayout.NAME_OFFSET, VerbsDevices.MAX_NAME_BYTES)
                .getString(0);
    }

    /** Allocates a protection domain. Memory regions and queue pairs work together only within one domain. */
    public ProtectionDomain allocateProtectionDomain() {
        lifecycle.lock();
        try {
            return new ProtectionDomain(this, checkCreated("ibv_alloc_pd",
                    NativeCall.pointer(library.allocPd, nativeAddress()), ""));
        } finally {
            lifecycle.unlock();
        }
    }

    /** Creates a channel that reports completions to a sleeping thread. */
    public CompletionChannel createCompletionChannel() {
        lifecycle.lock();
        try {
            return new CompletionChannel(this,
                    checkCreated("ibv_create_comp_channel",
                            NativeCall.pointer(library.createCompChannel, nativeAddress()), ""));
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Creates a completion queue.
     *
     * @param minEntries       minimum capacity in completions; the device may round it up
     * @param channelOrNull    the channel that receives events, or null for a queue that is only polled
     * @param completionVector 0 to {@link #completionVectorCount()} - 1
     */
    public CompletionQueue createCompletionQueue(int minEntries, CompletionChannel channelOrNull,
            int completionVector) {
        lifecycle.lock();
        try {
            long channel = channelOrNull == null ? 0 : channelOrNull.nativeAddress();
            long cq = checkCreated("ibv_create_cq",
                    NativeCall.pointer(library.createCq, nativeAddress(), minEntries, 0, channel, completionVector),
                    minEntries + " entries, completion vector " + completionVector);
            return new CompletionQueue(this, channelOrNull, cq);
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Creates a completion queue with a function of a driver library, such as {@code mlx5dv_create_cq}.
     *
     * @param function         address of a C function with the parameters (struct ibv_context *, struct
     *                         ibv_cq_init_attr_ex *, void *)
     * @param call             name of the function, for error messages
     * @param driverAttributes address of the driver's attributes, the third argument
     */
    public CompletionQueue createCompletionQueue(ExtendedCompletionQueueOptions options, long function, String call,
            long driverAttributes) {
        lifecycle.lock();
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(CqInitAttrExLayout.SIZE_BYTES, Long.BYTES).address();
            options.writeTo(attr);
            long cq = checkCreated(call, NativeCall.pointer(function, nativeAddress(), attr, driverAttributes, 0),
                    options.toString());
            return new CompletionQueue(this, options.channelOrNull(), cq);
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Creates a receive work queue, to be put into an indirection table.
     *
     * @param maxWr       maximum number of outstanding receive requests
     * @param maxSge      maximum number of SGEs per request
     * @param createFlags {@code enum ibv_wq_flags}, or 0
     */
    public WorkQueue createWorkQueue(ProtectionDomain domain, CompletionQueue completionQueue, int maxWr, int maxSge,
            int createFlags) {
        lifecycle.lock();
        try {
            return WorkQueue.create(this, domain, completionQueue, maxWr, maxSge, createFlags);
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Creates a receive work queue of one SGE per request with a function of a driver library.
     *
     * @param function         address of a C function that takes the context, the attributes and the driver's
     *                         attributes
     * @param call             name of the function, for error messages
     * @param driverAttributes address of the driver's attributes
     */
    public WorkQueue createWorkQueue(ProtectionDomain domain, CompletionQueue completionQueue, int maxWr, long function,
            String call, long driverAttributes) {
        lifecycle.lock();
        try {
            return WorkQueue.create(this, domain, completionQueue, maxWr, function, call, driverAttributes);
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Creates an RSS indirection table.
     *
     * @param entries the work queues in table order; their number must be a power of two
     */
    public RwqIndirectionTable createIndirectionTable(WorkQueue... entries) {
        lifecycle.lock();
        try {
            return RwqIndirectionTable.create(this, entries);
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Returns the descriptor that is readable when {@link #pollAsyncEvent} has an event. The descriptor is
     * non-blocking.
     */
    public int asyncFd() {
        return asyncFd;
    }

    /**
     * Takes and acknowledges one asynchronous event.
     *
     * @return null if no event is pending
     */
    public AsyncEvent pollAsyncEvent() {
        try (Arena arena = Arena.ofConfined()) {
            long event = arena.allocate(AsyncEventLayout.SIZE_BYTES, Long.BYTES).address();
            int errno = NativeCall.status(library.getAsyncEvent, nativeAddress(), event);
            if (errno == Errno.EAGAIN) {
                return null;
            }
            VerbsException.check("ibv_get_async_event", errno, deviceName);
            // Look up the source before the acknowledgement. Afterwards another thread may destroy the C object,
            // and its address may be reused.
            AsyncEvent result = AsyncEvent.read(event, eventSources);
            NativeCall.status(library.ackAsyncEvent, event);
            return result;
        }
    }

    /**
     * Returns the address of a function in {@code struct verbs_context}, or 0 if the library or the driver
     * lacks it. This is {@code verbs_get_ctx_op} of the C header.
     */
    long extension(int offset) {
        long context = nativeAddress();
        if (NativeMemory.getLong(context + ContextLayout.ABI_COMPAT_OFFSET) != ABI_IS_EXTENDED) {
            return 0;
        }
        long size = NativeMemory.getLong(context - VerbsContextLayout.CONTEXT_OFFSET + VerbsContextLayout.SZ_OFFSET);
        if (size < VerbsContextLayout.SIZE_BYTES - offset) {
            return 0;
        }
        return NativeMemory.getLong(context - VerbsContextLayout.CONTEXT_OFFSET + offset);
    }

    long requiredExtension(int offset, String call) {
        long function = extension(offset);
        if (function == 0) {
            throw VerbsException.of(call, Errno.EOPNOTSUPP, deviceName);
        }
        return function;
    }

    /** Returns a pointer returned by a C call, or throws if the call failed. */
    static long checkCreated(String call, long result, String detail) {
        if (NativeCall.isError(result)) {
            throw VerbsException.of(call, (int) -result, detail);
        }
        return result;
    }

    private MemorySegment operation(int offset, String call) {
        long function = NativeMemory.getLong(address + offset);
        if (function == 0) {
            throw VerbsException.of(call, Errno.EOPNOTSUPP, deviceName);
        }
        return MemorySegment.ofAddress(function);
    }

    @Override
    int destroy(long context) {
        return NativeCall.status(library.closeDevice, context);
    }

    @Override
    String destroyCall() {
        return "ibv_close_device";
    }

    @Override
    public String toString() {
        return "VerbsContext(" + deviceName + (isClosed() ? ", closed)" : ")");
    }
}
