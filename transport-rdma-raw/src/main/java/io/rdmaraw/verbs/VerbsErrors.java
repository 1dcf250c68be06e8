package io.rdmaraw.verbs;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.ProcessLimits;

/** Explains the error numbers of verbs calls and suggests remedies. */
final class VerbsErrors {
    private static final String NET_RAW =
            "raw-packet queue pairs and flow rules need CAP_NET_RAW: run as root, or grant it with setcap or to the"
            + " container; that of a user namespace, as in a rootless container, is enough only for the newest kernels,"
            + " with the device in this network namespace and 'rdma system set netns exclusive'";

    private VerbsErrors() {
    }

    /** Returns a clause with the meaning and the remedy, or an empty string if none is known. */
    static String remedy(String call, int errno) {
        String specific = switch (call) {
            case "ibv_open_device" -> openDevice(errno);
            case "ibv_reg_mr" -> registerMemory(errno);
            case "ibv_create_qp", "ibv_create_qp_ex" -> createQueuePair(errno);
            case "ibv_create_cq", "ibv_create_cq_ex" -> createCompletionQueue(errno);
            case "ibv_create_wq" -> createWorkQueue(errno);
            case "ibv_create_rwq_ind_table" -> createTable(errno);
            case "ibv_modify_qp", "ibv_modify_wq" -> modify(errno);
            case "ibv_create_flow" -> createFlow(errno);
            case "ibv_post_send", "ibv_post_recv", "ibv_post_wq_recv" -> post(errno);
            case "ibv_poll_cq" -> "the completion queue has overrun or the device was removed: create it with more"
                    + " entries than the queue pairs can have completions outstanding";
            case "ibv_dealloc_pd", "ibv_destroy_cq", "ibv_destroy_comp_channel", "ibv_destroy_wq",
                    "ibv_destroy_rwq_ind_table", "ibv_dereg_mr", "ibv_destroy_qp" ->
                    errno == Errno.EBUSY ? "something that uses it is still open" : "";
            default -> "";
        };
        return specific.isEmpty() ? general(errno) : specific;
    }

    /**
     * Returns a description for an error that softverbs did not explain. Remedies about device files do not
     * apply to softverbs.
     */
    static String unexplained(int errno) {
        String remedy = switch (errno) {
            case Errno.EMFILE, Errno.ENOMEM -> general(errno);
            default -> "the kernel's log (dmesg) may have details";
        };
        return Errno.describe(errno) + ": " + remedy;
    }

    private static String general(int errno) {
        return switch (errno) {
            case Errno.EPERM -> NET_RAW;
            case Errno.EACCES -> "the user needs read and write access to /dev/infiniband/uverbs*";
            case Errno.ENODEV, Errno.EIO -> "the device was removed, reset or has failed: open it again";
            case Errno.EOPNOTSUPP, Errno.ENOSYS -> "this device or its driver does not support the call";
            case Errno.EMFILE -> "the limit of open files (ulimit -n) is reached";
            case Errno.ENOMEM -> "no memory, or the device is out of this resource: close what is not needed";
            default -> "";
        };
    }

    private static String openDevice(int errno) {
        return switch (errno) {
            case Errno.EPERM, Errno.EACCES, Errno.ENOENT ->
                    "the user needs read and write access to /dev/infiniband/uverbs*; in a container, pass these"
                    + " devices in";
            case Errno.ENOSYS, Errno.EOPNOTSUPP ->
                    "the driver's user-space part does not fit: install ibverbs-providers";
            default -> "";
        };
    }

    private static String registerMemory(int errno) {
        return switch (errno) {
            case Errno.ENOMEM, Errno.EPERM, Errno.EAGAIN -> "registered memory counts against the memlock limit, now "
                    + ProcessLimits.describeLockedMemory()
                    + ": raise it (ulimit -l unlimited, LimitMEMLOCK=infinity, docker --ulimit memlock=-1) or register"
                    + " less";
            case Errno.EFAULT -> "the range is not mapped, or not writable";
            case Errno.EINVAL -> "the range is empty, or the access flags contradict each other";
            default -> "";
        };
    }

    private static String createQueuePair(int errno) {
        return switch (errno) {
            case Errno.EPERM -> NET_RAW;
            case Errno.EOPNOTSUPP, Errno.ENOSYS, Errno.EPROTONOSUPPORT ->
                    "the device has no raw-packet queue pairs of this kind; mlx5 devices have them, soft RoCE and irdma"
                    + " have not: soft:xdp:NETDEV (AF_XDP) runs on their network interfaces";
            case Errno.EINVAL -> "a size exceeds a limit of the device (max_qp_wr, max_sge, max_inline_data),"
                    + " a flag is unknown, or the device has no raw-packet queue pairs";
            case Errno.ENOMEM -> noMemoryForRings("queue pair");
            default -> "";
        };
    }

    private static String createCompletionQueue(int errno) {
        return switch (errno) {
            case Errno.EINVAL -> "the number of entries is 0 or beyond max_cqe, or there is no such completion vector"
                    + " or option";
            case Errno.ENOMEM -> noMemoryForRings("completion queue");
            default -> "";
        };
    }

    private static String createWorkQueue(int errno) {
        return switch (errno) {
            case Errno.EINVAL -> "a size exceeds a limit of the device (max_qp_wr, max_sge)";
            case Errno.ENOMEM -> noMemoryForRings("work queue");
            default -> "";
        };
    }

    private static String createTable(int errno) {
        return errno == Errno.EINVAL ? "the table needs a power of two of work queues, at most"
                + " max_rwq_indirection_table_size" : "";
    }

    private static String modify(int errno) {
        return switch (errno) {
            case Errno.EINVAL -> "the state does not follow the present one, or a needed attribute is missing";
            case Errno.ENODEV, Errno.ENETDOWN -> "the port has no network interface that is up";
            default -> "";
        };
    }

    private static String createFlow(int errno) {
        return switch (errno) {
            case Errno.EPERM -> NET_RAW;
            case Errno.EEXIST -> "the same rule exists already, possibly in another process: share its queue pair, or"
                    + " change the rule";
            case Errno.ENOMEM -> "the rule table or this priority is full: priorities are 0 to 15, and each"
                    + " supports few different sets of matched fields";
            case Errno.ENOSPC -> "the device's rule table is full: mlx5 has 65536 rules a priority, which all processes"
                    + " of the function share; each connection of a client has one, and a server has one per address";
            case Errno.EINVAL -> "the rule contradicts itself or names a field that the device cannot match";
            case Errno.EOPNOTSUPP, Errno.ENOSYS, Errno.EPROTONOSUPPORT -> "the device cannot steer by such a rule";
            case Errno.EBUSY -> "another rule of this kind holds the port";
            default -> "";
        };
    }

    private static String post(int errno) {
        return switch (errno) {
            case Errno.ENOMEM -> "the queue is full: poll completions first; or the request has too many SGEs";
            case Errno.EINVAL -> "the queue pair is not in a state that accepts it, or the request has too many SGEs,"
                    + " too much inline data, an unknown opcode, or a frame shorter than the device's inline header"
                    + " (18 bytes on mlx5)";
            default -> "";
        };
    }

    /** {@code mlx5_ib} pins rings like registered memory, so both count against the memlock limit. */
    private static String noMemoryForRings(String object) {
        return "no memory for rings of this size, or the device has no " + object + " left; a card's rings count"
                + " against the memlock limit, now " + ProcessLimits.describeLockedMemory() + " (ulimit -l)";
    }
}
