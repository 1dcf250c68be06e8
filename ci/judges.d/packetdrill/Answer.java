// SPDX-License-Identifier: Apache-2.0

/** The answer to a system call: its result, an errno if the result is -1, and what goes to the caller's memory. */
record Answer(long result, int error, byte[] payload) {
    static final int EINTR = 4;
    static final int EBADF = 9;
    static final int EAGAIN = 11;
    static final int EINVAL = 22;
    static final int EPIPE = 32;
    static final int ENOPROTOOPT = 92;
    static final int EOPNOTSUPP = 95;
    static final int ECONNRESET = 104;
    static final int EISCONN = 106;
    static final int ENOTCONN = 107;
    static final int ETIMEDOUT = 110;
    static final int ECONNREFUSED = 111;
    static final int EHOSTUNREACH = 113;
    static final int EALREADY = 114;
    static final int EINPROGRESS = 115;

    private static final byte[] NOTHING = {};

    static Answer of(long result) {
        return new Answer(result, 0, NOTHING);
    }

    static Answer of(long result, byte[] payload) {
        return new Answer(result, 0, payload);
    }

    static Answer error(int errno) {
        return new Answer(-1, errno, NOTHING);
    }
}
