package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.TransportVersion;
import io.rdmaraw.verbs.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;

/**
 * A loaded provider of the libibverbs ABI and the addresses of its exported functions. Functions that are
 * inline in the C header are reached through an open device; see {@link VerbsContext}.
 */
public final class VerbsLibrary {
    private static final String RDMA_CORE_SONAME = "libibverbs.so.1";
    private static final int MAX_VERSION_BYTES = 64;
    /** {@code SV_EXPLANATION_BYTES} of objects.h. */
    static final int MAX_REASON_BYTES = 256;

    final long getDeviceList;
    final long freeDeviceList;
    final long openDevice;
    final long closeDevice;
    final long getAsyncEvent;
    final long ackAsyncEvent;
    final long queryDevice;
    final long queryPort;
    final long queryGid;
    final long allocPd;
    final long deallocPd;
    final long regMr;
    final long regMrIova2;
    final long deregMr;
    final long createCompChannel;
    final long destroyCompChannel;
    final long createCq;
    final long resizeCq;
    final long destroyCq;
    final long getCqEvent;
    final long ackCqEvents;
    final long createQp;
    final long modifyQp;
    final long queryQp;
    final long destroyQp;
    /** {@code int softverbs_add_device(const char *name)}; 0 in rdma-core. */
    public final long addDevice;
    /** {@code int softverbs_get_flow_error(char *text, size_t bytes)}; 0 in rdma-core. */
    private final long getFlowError;

    private final SymbolLookup lookup;

    private VerbsLibrary(SymbolLookup lookup) {
        this.lookup = lookup;
        getDeviceList = address(lookup, "ibv_get_device_list");
        freeDeviceList = address(lookup, "ibv_free_device_list");
        openDevice = address(lookup, "ibv_open_device");
        closeDevice = address(lookup, "ibv_close_device");
        getAsyncEvent = address(lookup, "ibv_get_async_event");
        ackAsyncEvent = address(lookup, "ibv_ack_async_event");
        queryDevice = address(lookup, "ibv_query_device");
        queryPort = address(lookup, "ibv_query_port");
        queryGid = address(lookup, "ibv_query_gid");
        allocPd = address(lookup, "ibv_alloc_pd");
        deallocPd = address(lookup, "ibv_dealloc_pd");
        regMr = address(lookup, "ibv_reg_mr");
        regMrIova2 = optionalAddress(lookup, "ibv_reg_mr_iova2");
        deregMr = address(lookup, "ibv_dereg_mr");
        createCompChannel = address(lookup, "ibv_create_comp_channel");
        destroyCompChannel = address(lookup, "ibv_destroy_comp_channel");
        createCq = address(lookup, "ibv_create_cq");
        resizeCq = address(lookup, "ibv_resize_cq");
        destroyCq = address(lookup, "ibv_destroy_cq");
        getCqEvent = address(lookup, "ibv_get_cq_event");
        ackCqEvents = address(lookup, "ibv_ack_cq_events");
        createQp = address(lookup, "ibv_create_qp");
        modifyQp = address(lookup, "ibv_modify_qp");
        queryQp = address(lookup, "ibv_query_qp");
        destroyQp = address(lookup, "ibv_destroy_qp");
        addDevice = optionalAddress(lookup, "softverbs_add_device");
        getFlowError = optionalAddress(lookup, "softverbs_get_flow_error");
    }

    /** Returns whether rdma-core's libibverbs is installed and exports all required functions. */
    static boolean isRdmaCoreUsable() {
        return RdmaCore.LOADED.isUsable();
    }

    /**
     * Returns rdma-core's libibverbs.
     *
     * @throws VerbsException if it is not usable
     */
    static VerbsLibrary rdmaCore() {
        return RdmaCore.LOADED.get();
    }

    /**
     * Returns softverbs, the software provider of this project.
     *
     * @throws VerbsException if it is not usable
     */
    static VerbsLibrary softverbs() {
        return Softverbs.LOADED.get();
    }

    /**
     * Registers a device with softverbs, for example {@code loop:a}. Does nothing if the device exists.
     *
     * @return false if softverbs cannot drive a device of this name
     */
    boolean addDevice(String name) {
        try (Arena arena = Arena.ofConfined()) {
            int errno = NativeCall.status(addDevice, arena.allocateFrom(name).address());
            if (errno == Errno.EINVAL || errno == Errno.ENODEV) {
                return false;
            }
            VerbsException.check("softverbs_add_device", errno == Errno.EEXIST ? 0 : errno, name);
            return true;
        }
    }

    /**
     * Returns the provider's reason for the failure of the last {@code ibv_create_flow} of this thread, or an empty
     * string if it has none.
     */
    String flowError() {
        if (getFlowError == 0) {
            return "";
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(MAX_REASON_BYTES);
            NativeCall.status(getFlowError, text.address(), MAX_REASON_BYTES);
            return text.getString(0);
        }
    }

    /** Returns the address of an exported function that other providers may lack, or 0. */
    public long optionalFunction(String function) {
        return optionalAddress(lookup, function);
    }

    private static long address(SymbolLookup lookup, String function) {
        long address = optionalAddress(lookup, function);
        if (address == 0) {
            throw new UnsatisfiedLinkError("the library does not export " + function);
        }
        return address;
    }

    private static long optionalAddress(SymbolLookup lookup, String function) {
        return lookup.find(function).map(segment -> segment.address()).orElse(0L);
    }

    /** The result of loading a library. A failure is recorded, so that every later use reports the same reason. */
    private record Loaded(VerbsLibrary library, String failure) {
        static Loaded rdmaCore() {
            try {
                VerbsLibrary library = new VerbsLibrary(NativeLibrary.load(RDMA_CORE_SONAME));
                // The name resolved to a softverbs library that another class loader has loaded. rdma-core is not
                // installed.
                return library.addDevice == 0 ? new Loaded(library, null)
                        : new Loaded(null, rdmaCoreUnusable(RDMA_CORE_SONAME + " of this process is softverbs"));
            } catch (LinkageError e) {
                return new Loaded(null, rdmaCoreUnusable(e.getMessage()));
            }
        }

        private static String rdmaCoreUnusable(String why) {
            return "rdma-core is not usable: " + why
                    + "; install it (apt-get install libibverbs1 ibverbs-providers), or use a soft: device";
        }

        /**
         * Loads softverbs after rdma-core. softverbs has the soname of rdma-core, so that C programs can link to
         * it. The dynamic linker reuses a loaded library with a matching soname. If softverbs were loaded first,
         * rdma-core could not be loaded.
         */
        static Loaded softverbs() {
            RdmaCore.LOADED.isUsable();
            try {
                SymbolLookup softverbs = NativeLibrary.loadBundled("softverbs");
                requireVersion(softverbs);
                return new Loaded(new VerbsLibrary(softverbs), null);
            } catch (LinkageError e) {
                return new Loaded(null, "softverbs is not usable: " + e.getMessage());
            }
        }

        /** Rejects a library of another version, since its structures may have another layout. */
        private static void requireVersion(SymbolLookup softverbs) {
            String ours = TransportVersion.get();
            long function = optionalAddress(softverbs, "softverbs_version");
            String its = function == 0 ? "before 0.1.0"
                    : NativeMemory.segment(NativeCall.pointer(function, 0), MAX_VERSION_BYTES).getString(0);
            if (!its.equals(ours) && !its.equals(TransportVersion.UNKNOWN) && !ours.equals(TransportVersion.UNKNOWN)) {
                throw new UnsatisfiedLinkError("the library is of version " + its + ", and the transport's classes are"
                        + " of " + ours + ": give netty-transport-rdma-raw and netty-transport-rdma-raw-native one"
                        + " version, as netty-transport-rdma-raw-bom does (the library is in "
                        + NativeLibrary.candidatesOf("softverbs") + ")");
            }
        }

        boolean isUsable() {
            return library != null;
        }

        VerbsLibrary get() {
            if (library == null) {
                throw new VerbsException("dlopen", Errno.ENOENT, failure);
            }
            return library;
        }
    }

    private static final class RdmaCore {
        static final Loaded LOADED = Loaded.rdmaCore();
    }

    private static final class Softverbs {
        static final Loaded LOADED = Loaded.softverbs();
    }
}
