package io.rdmaraw.testsuite.socket;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Shuts down the loops of {@link RdmaRawSocketTestPermutation} after each test class, so that its leaks can be
 * detected.
 */
final class LoopGroups implements AfterAllCallback {
    @Override
    public void afterAll(ExtensionContext context) {
        if (context.getRequiredTestClass().getEnclosingClass() == null) {
            RdmaRawSocketTestPermutation.INSTANCE.shutDown();
        }
    }
}
