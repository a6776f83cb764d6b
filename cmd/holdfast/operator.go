package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast/holdfast/tenants"
)

// Commands that set up data act for whoever has the database already: first as an operator of the
// installation, then as one of the tenant's own keys.

// asOperator acts with a platform key that is good only for this command.
func (a *app) asOperator(ctx context.Context, name string, act func(ctx context.Context, operator tenants.Actor) error) (err error) {
	secret, err := tenants.BootstrapPlatformKey(ctx, a.store.db, name)
	if err != nil {
		return err
	}
	operator, err := a.tenants.Authenticate(ctx, secret, "")
	if err != nil {
		return err
	}
	defer func() {
		// The key must not outlive a command that was interrupted.
		_, revokeErr := a.tenants.RevokeKey(context.WithoutCancel(ctx), operator, tenants.TenantID{}, operator.Key)
		err = errors.Join(err, revokeErr)
	}()
	return act(ctx, operator)
}

// allTenants lists every tenant of the installation.
func (a *app) allTenants(ctx context.Context, operator tenants.Actor) ([]tenants.Tenant, error) {
	return allPages(func(after tenants.TenantID) (tenants.Page[tenants.Tenant], error) {
		return a.tenants.Tenants(ctx, operator, after, tenants.MaxPage)
	}, func(tenant tenants.Tenant) tenants.TenantID { return tenant.ID })
}

// allKeys lists every key of a tenant, revoked ones too.
func (a *app) allKeys(ctx context.Context, operator tenants.Actor, tenant tenants.TenantID) ([]tenants.Key, error) {
	return allPages(func(after tenants.KeyID) (tenants.Page[tenants.Key], error) {
		return a.tenants.Keys(ctx, operator, tenant, after, tenants.MaxPage)
	}, func(key tenants.Key) tenants.KeyID { return key.ID })
}

// actorOf acts as a key whose secret is not known. Only commands that have the database may.
func actorOf(key tenants.Key) tenants.Actor {
	return tenants.Actor{Tenant: key.Tenant, Key: key.ID, KeyType: key.Type, Mode: key.Mode, Channel: key.Channel}
}

// boxOfficeOf finds the box office of a tenant through the admin keys that sell through it.
func boxOfficeOf(keys []tenants.Key) (tenants.ChannelID, error) {
	for _, key := range keys {
		if key.Type == tenants.KeyTypeAdmin && !key.Channel.IsZero() {
			return key.Channel, nil
		}
	}
	return tenants.ChannelID{}, errors.New("no admin key of the tenant sells through a box office")
}

func allPages[T, ID any](read func(after ID) (tenants.Page[T], error), idOf func(T) ID) ([]T, error) {
	var all []T
	var after ID
	for {
		page, err := read(after)
		if err != nil {
			return nil, fmt.Errorf("read a list: %w", err)
		}
		all = append(all, page.Items...)
		if !page.More || len(page.Items) == 0 {
			return all, nil
		}
		after = idOf(page.Items[len(page.Items)-1])
	}
}
