package io.rdmaraw.agent;

import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Label;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DynamicCallSiteDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;

/**
 * Rewrites the I/O handlers of epoll and io_uring, for those that find them by reflection: their {@code newFactory}
 * returns the transport's, where there is one.
 */
final class HandlerRewriter {
    private HandlerRewriter() {
    }

    static byte[] rewrite(NettyNames names, byte[] bytes) {
        ClassFile classFile = ClassFile.of();
        ClassTransform rewriting = ClassTransform.transformingMethodBodies(
                method -> method.flags().has(AccessFlag.STATIC) && method.methodName().equalsString("newFactory"),
                CodeTransform.ofStateful(() -> new Beginning(names.nettyPackage())));
        return classFile.transformClass(classFile.parse(bytes), rewriting);
    }

    private static final class Beginning implements CodeTransform {
        private final String nettyPackage;

        Beginning(String nettyPackage) {
            this.nettyPackage = nettyPackage;
        }

        @Override
        public void atStart(CodeBuilder code) {
            ClassDesc factory = ClassDesc.of(nettyPackage + ".channel.IoHandlerFactory");
            Label none = code.newLabel();
            code.invokedynamic(DynamicCallSiteDesc.of(ConstantDescs.ofCallsiteBootstrap(
                    Replacements.class.describeConstable().orElseThrow(), "ownFactory", ConstantDescs.CD_CallSite,
                    ConstantDescs.CD_String), "ownFactory", MethodTypeDesc.of(factory), nettyPackage));
            code.dup().ifnull(none).areturn().labelBinding(none).pop();
        }

        @Override
        public void accept(CodeBuilder code, CodeElement element) {
            code.with(element);
        }
    }
}
